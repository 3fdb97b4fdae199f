"""A memory is reached from its own event loop, from another, and from none."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from thoughtcycle.errors import InputRefused, StorageFailed
from thoughtcycle.integrations.loop_bridge import in_background, run_async, run_blocking
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft


async def saved(memory: Memory) -> int:
    await memory.save("ana", [MemoryDraft(content="Lives in Lisbon")])
    return len(await memory.list("ana"))


def test_a_memory_in_the_background_is_used_without_a_loop_and_from_others(tmp_path: Path) -> None:
    with in_background(Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None)) as memory:
        assert run_blocking(memory, saved) == 1
        assert asyncio.run(run_async(memory, saved)) == 1

        async def blocking() -> int:
            return run_blocking(memory, saved)  # on a thread whose own loop runs, as in a notebook

        assert asyncio.run(blocking()) == 1


async def test_a_plain_memory_is_used_on_its_own_loop_only(tmp_path: Path) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None) as memory:
        assert await run_async(memory, saved) == 1
        with pytest.raises(InputRefused, match="in_background"):
            run_blocking(memory, saved)


def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    opening = Memory.open(f"sqlite:///{tmp_path}", embeddings=None)  # a folder
    with pytest.raises(StorageFailed), in_background(opening):
        raise AssertionError("nothing was opened")


def test_one_task_opens_and_closes(tmp_path: Path) -> None:
    tasks = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[Memory]:
        async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None) as memory:
            tasks.append(asyncio.current_task())
            yield memory
        tasks.append(asyncio.current_task())

    with pytest.raises(KeyError), in_background(opened()) as memory:
        run_blocking(memory, saved)
        raise KeyError
    assert len(tasks) == 2 and tasks[0] is tasks[1]


def test_a_failure_in_the_background_is_raised_in_the_foreground(tmp_path: Path) -> None:
    async def fail(memory: Memory) -> None:
        await memory.update("ana", "x", content="y")

    with in_background(Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None)) as memory:
        for call in (lambda: run_blocking(memory, fail), lambda: asyncio.run(run_async(memory, fail))):
            with pytest.raises(Exception, match="no memory"):
                call()
