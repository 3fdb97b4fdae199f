"""A server's garbage is looked for once it is up, and memory that was freed goes back to the system."""

import asyncio
import gc
import os
from pathlib import Path

import pytest

from thoughtcycle.web.heap import give_back, growing, settle, trimmer


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_what_a_start_made_is_not_looked_through_again() -> None:
    with growing():
        assert not gc.isenabled()
        made = {"made": ["at", "the", "start"]}
        settle()
        try:
            assert gc.isenabled()
            assert gc.get_freeze_count() > 0
            assert not any(one is made for one in gc.get_objects())
        finally:
            gc.unfreeze()
    assert any(one is made for one in gc.get_objects())


def test_a_start_that_failed_leaves_garbage_looked_for() -> None:
    with pytest.raises(OSError, match="taken"), growing():
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

    giving = asyncio.create_task(give_back(trim, every=0.0))
    await asyncio.wait_for(done.wait(), 60)
    giving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await giving


async def test_without_glibc_there_is_nothing_to_do() -> None:
    await asyncio.wait_for(give_back(None), 60)
