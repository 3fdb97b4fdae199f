"""Access counts gather in memory, are written behind, and wait where the database refuses them."""

import asyncio
import logging
from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from support.engines import memory
from support.memories import START
from thoughtcycle.errors import NotAllowed, StorageLocked
from thoughtcycle.memory.core.access_counter import AccessCounter
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import Access, MemoryDraft
from thoughtcycle.memory.storage import Memories

__all__ = ["memory"]

LATE = START + timedelta(days=1)


class Ledger:
    """A storage that only counts, and refuses while `away`."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Access] = {}
        self.away = False
        self.writes = 0
        self.written = asyncio.Event()

    async def touch(self, space: str, counts: Mapping[str, Access]) -> None:
        self.writes += 1
        self.written.set()
        await asyncio.sleep(0)
        if self.away:
            raise StorageLocked("x")
        for id, access in counts.items():
            known = self.kept.get((space, id), Access(count=0, last=access.last))
            self.kept[space, id] = Access(count=known.count + access.count, last=max(known.last, access.last))

    async def accesses(self, space: str, ids: Collection[str]) -> dict[str, Access]:
        return {id: self.kept[space, id] for id in ids if (space, id) in self.kept}


def counter(ledger: Ledger, *, pause: float = 60.0, most: int = 100) -> AccessCounter:
    return AccessCounter(cast(Memories, ledger), pause=pause, most=most)


@pytest.mark.spec("LM-9")
async def test_counts_are_seen_at_once_and_written_together() -> None:
    ledger = Ledger()
    counts = counter(ledger)
    for at in (LATE, START):
        counts.note("ana", ["m1", "m2"], at)
    counts.note("bia", ["m1"], START)
    assert ledger.writes == 0
    both = {"m1": Access(count=2, last=LATE), "m2": Access(count=2, last=LATE)}
    assert await counts.read("ana", ["m1", "m2", "m3"]) == both
    await counts.close()
    assert ledger.writes == 2, "one per user"
    assert await counts.read("ana", ["m1", "m2"]) == both
    assert ledger.kept["bia", "m1"] == Access(count=1, last=START)


async def test_a_pause_later_they_are_written_without_being_asked() -> None:
    ledger = Ledger()
    counts = counter(ledger, pause=0.01)
    for _ in range(2):
        counts.note("ana", ["m1"], START)
        await asyncio.wait_for(ledger.written.wait(), 60)
        ledger.written.clear()
    await counts.close()
    assert ledger.kept["ana", "m1"].count == 2


async def test_what_the_database_refuses_is_logged_and_waits(caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger()
    counts = counter(ledger, pause=0.01)
    ledger.away = True
    with caplog.at_level(logging.WARNING):
        counts.note("ana", ["m1"], START)
        await asyncio.wait_for(ledger.written.wait(), 60)
        assert not await counts.flush()
    assert "storage_locked" in caplog.text
    assert (await counts.read("ana", ["m1"]))["m1"].count == 1
    ledger.away = False
    counts.note("ana", ["m1"], LATE)
    await counts.close()
    assert ledger.kept == {("ana", "m1"): Access(count=2, last=LATE)}


async def test_only_so_many_may_wait() -> None:
    counts = counter(Ledger(), most=2)
    counts.note("ana", ["m1", "m2"], START)
    counts.note("bia", ["m3"], START)
    counts.note("ana", ["m1", "m4"], START)
    found = await counts.read("ana", ["m1", "m2", "m4"])
    assert {id: access.count for id, access in found.items()} == {"m1": 2, "m2": 1}
    assert await counts.read("bia", ["m3"]) == {}
    await counts.close()


@pytest.mark.spec("LM-9")
async def test_every_memory_that_a_search_returns_counts_as_accessed(memory: Memory) -> None:
    drafts = [MemoryDraft(content=f"praia {n}", bindings=("praia",)) for n in range(3)]
    ids = [saved.record.id for saved in await memory.save("ana", drafts)]
    before = [await memory.get("ana", id) for id in ids]
    found = await memory.search("ana", "praia", limit=2)
    again = await memory.search("ana", "praia", limit=9)
    await memory.search("ana", "praia", counted=False)
    counts = await memory.accesses("ana", ids)
    both = {hit.record.id for hit in found}
    assert len(both) == 2 and len(again) == 3
    assert {id: access.count for id, access in counts.items()} == {id: 1 + (id in both) for id in ids}
    assert all(access.last > START for access in counts.values())
    await memory.core.accesses.flush()
    assert await memory.accesses("ana", ids) == counts
    assert await memory.accesses("bia", ids) == {}
    assert [await memory.get("ana", id) for id in ids] == before, "no revision changes"


async def test_closing_writes_what_waits(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    async with Memory.open(url, embeddings=None) as memory:
        (saved,) = await memory.save("ana", [MemoryDraft(content="praia")])
        await memory.search("ana", "praia")
    async with Memory.open(url, embeddings=None) as memory:
        assert (await memory.accesses("ana", [saved.record.id]))[saved.record.id].count == 1


async def test_nobody_has_no_counts(memory: Memory) -> None:
    assert await memory.accesses("ana", ["m1"]) == {}
    with pytest.raises(NotAllowed):
        await memory.accesses("", ["m1"])
