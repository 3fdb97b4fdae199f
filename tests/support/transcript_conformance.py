"""What every storage backend must do for whole cycles; mixed in beside `StorageConformance`."""

import asyncio

from support.memories import START
from support.storage_conformance import close, cycle
from thoughtcycle.memory.storage import Storage


class TranscriptConformance:
    """Uses the fixture `storage` of the class that it is mixed into."""

    async def test_cycles_appended_at_once_come_one_after_the_other(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        ids = [f"c{number}" for number in range(8)]
        appended = await asyncio.gather(*(storage.transcript.append_cycle(close(cycle(id))) for id in ids))
        tip = (await storage.chats.claim("chat", "ana", START)).tip
        assert tip is not None
        path = await storage.transcript.path("ana", "chat", tip, limit=99)
        assert sorted(one.id for one in path) == ids
        assert sorted(path, key=lambda one: one.id) == appended
        assert path[-1].parent is None
        feed = await storage.transcript.cycle_feed("ana", 0, model=None)
        assert [one.id for one in feed.cycles] == [one.id for one in reversed(path)]

    async def test_a_cycle_is_appended_once(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        first = await storage.transcript.append_cycle(close(cycle("c1")))
        second = await storage.transcript.append_cycle(close(cycle("c2", parent="elsewhere")))
        assert (first.parent, second.parent) == (None, "c1")
        number = (await storage.transcript.cycle_feed("ana", 0, model=None)).number
        assert await storage.transcript.append_cycle(close(cycle("c1"))) == first
        assert (await storage.chats.claim("chat", "ana", START)).tip == "c2"
        assert (await storage.transcript.cycle_feed("ana", 0, model=None)).number == number
