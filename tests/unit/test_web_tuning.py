"""The process of `thoughtcycle web` is tuned for many users, and no other one is."""

import asyncio
import gc
import os
import sys
from pathlib import Path

import pytest
import uvicorn
from pydantic import SecretStr

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.runtime.settings import Settings
from thoughtcycle.web.app import create_app
from thoughtcycle.web.server.tuning import event_loop, freeze, keep_trimming, serving, starting, trimmer


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_what_a_start_made_is_not_looked_through_again() -> None:
    with starting(tuned=True):
        assert not gc.isenabled()
        made = {"made": ["at", "the", "start"]}
        freeze()
        try:
            assert gc.isenabled()
            assert gc.get_freeze_count() > 0
            assert not any(one is made for one in gc.get_objects())
        finally:
            gc.unfreeze()
    assert any(one is made for one in gc.get_objects())


def test_a_start_that_failed_leaves_garbage_looked_for() -> None:
    with pytest.raises(OSError, match="taken"), starting(tuned=True):
        raise OSError("taken")
    assert gc.isenabled()


@pytest.mark.skipif(trimmer() is None, reason="only glibc keeps what was freed, and can be asked for it")
def test_what_lies_free_between_what_is_used_is_given_back() -> None:
    trim = trimmer()
    assert trim is not None
    blocks = [b"x" * 60_000 for _ in range(800)]
    used = blocks[::20]
    del blocks
    before = resident()
    trim()
    assert before - resident() > 20_000_000
    assert len(used) == 40


async def test_it_is_done_again_and_again_until_the_end() -> None:
    done = asyncio.Event()
    loop, times = asyncio.get_running_loop(), 0

    def trim() -> None:
        nonlocal times
        times += 1
        if times == 3:
            loop.call_soon_threadsafe(done.set)

    giving = asyncio.create_task(keep_trimming(trim, every=0.0))
    await asyncio.wait_for(done.wait(), 60)
    giving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await giving


async def test_without_glibc_there_is_nothing_to_do() -> None:
    await asyncio.wait_for(keep_trimming(None), 60)


async def test_threads_give_way_quickly_while_requests_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(sys, "setswitchinterval", asked.append)
    try:
        async with serving(tuned=True):
            assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
    assert asked == [0.0005]


def process() -> tuple[bool, int, float]:
    return gc.isenabled(), gc.get_freeze_count(), sys.getswitchinterval()


async def test_untuned_the_process_is_left_alone() -> None:
    before = process()
    with starting(tuned=False):
        assert process() == before
        async with serving(tuned=False):
            assert process() == before
            assert len(asyncio.all_tasks()) == 1
    factory = uvicorn.Config("app", loop=event_loop(tuned=False)).get_loop_factory()
    assert factory is not None and factory.__module__.startswith("asyncio")


async def test_a_process_that_embeds_the_server_or_the_memory_keeps_its_own(tmp_path: Path) -> None:
    before = process()
    app = create_app(Settings(db=SecretStr(f"sqlite:///{tmp_path}/m.db")), ModelSettings())
    async with app.router.lifespan_context(app):
        assert process() == before
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None) as memory:
        await memory.save("ana", [MemoryDraft(content="gosta de chá")])
        assert await memory.search("ana", "chá")
        assert process() == before
