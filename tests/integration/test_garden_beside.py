"""Other writers between the garden's look and its write: what they did stands, and the garden stops for nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from support.beside import Beside
from support.doctor import problems
from support.killed_former import LONG, SAID_AT, YEAR_LATER, fill, work_on
from support.memories import WordEmbedder
from thoughtcycle.memory.memory import Memory

Act = Callable[[Memory, str], Awaitable[object]]

ACTS: dict[str, Act] = {
    "pin": lambda memory, id: memory.pin("ana", [id]),
    "said again": lambda memory, id: memory.reinforce("ana", id),
    "hide": lambda memory, id: memory.hide("ana", [id]),
    "erase": lambda memory, id: memory.erase("ana", [id]),
    "update": lambda memory, id: memory.update("ana", id, content="Outra coisa"),
    "forget": lambda memory, id: memory.forget_user("ana"),
    "garden": lambda memory, id: work_on(memory, "garden", YEAR_LATER),
}
CONTENTS = {"merge": "Não gosta de coentro", "archive": "Quer aprender violão", "condense": LONG}
WRITE = {"merge": 1, "archive": 3, "condense": 4}
"""Which write of the garden each is, the second the priorities."""


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[tuple[Memory, Memory]]:
    """The same database twice, a year after it was filled."""
    async with Memory.open(url, embeddings=WordEmbedder(), clock=lambda: SAID_AT) as memory:
        await fill(memory, "garden")
    later = YEAR_LATER + timedelta(minutes=2)
    async with (
        Memory.open(url, embeddings=WordEmbedder(), clock=lambda: YEAR_LATER) as one,
        Memory.open(url, embeddings=WordEmbedder(), clock=lambda: later) as other,
    ):
        yield one, other


@pytest.mark.spec("LM-11", "LM-12", "BY-2")
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("task", CONTENTS)
async def test_what_another_does_between_look_and_write_stands(
    database_url: str, task: str, act: str
) -> None:
    async with opened(database_url) as (memory, other):
        ids = {record.content: record.id for record in await memory.list("ana")}
        id = ids[CONTENTS[task]]
        beside = Beside(memory, WRITE[task], lambda: ACTS[act](other, id))
        await work_on(memory, "garden", YEAR_LATER)
        assert beside.name
        assert [job.error for job in await memory.queue.listing(["ana", ""])] == []
        assert await problems(memory.core.storage, "ana") == []
        if act == "forget":
            assert (await memory.forget_user("ana")).erased == {}
            return
        kept = await memory.get("ana", id)
        assert kept is not None
        match act:
            case "pin":
                assert kept.pinned and kept.status in ("active", "superseded")
            case "said again":
                assert kept.status in ("active", "superseded")
            case "hide":
                assert kept.status == "hidden"
            case "erase":
                assert kept.status == "erased" and kept.content is None
            case "update":
                assert "Outra coisa" in {one.text for one in await memory.list("ana")}
            case _:
                rows = [row.op for row in await memory.core.storage.memories.journal("ana")]
                assert (rows.count("merge"), rows.count("archive"), rows.count("condense")) == (2, 3, 1)


@pytest.mark.spec("LM-11")
async def test_a_garden_without_memories_and_one_of_a_forgotten_user(database_url: str) -> None:
    async with opened(database_url) as (memory, other):
        await other.forget_user("ana")
        await work_on(memory, "garden", YEAR_LATER)
        assert await memory.list("ana") == [] and await memory.queue.listing(["ana", ""]) == []
        assert (await memory.forget_user("ana")).erased == {}
