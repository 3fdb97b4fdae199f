"""What every storage backend must do for whole-user operations; mixed in beside `StorageConformance`."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from support.memories import START, record
from support.storage_conformance import change, close, cycle, new
from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.model import STATUSES, Conversation, Cycle
from thoughtcycle.memory.storage import Storage


class WholeUserConformance:
    """Uses the fixture `storage` of the class that it is mixed into."""

    async def test_everything_of_a_user_comes_page_by_page(self, storage: Storage) -> None:
        for chat in ("b", "a", "c"):
            await storage.chats.claim(chat, "ana", START)
        await storage.chats.claim("d", "bia", START)
        first = await storage.chats.conversations("ana", after=None, limit=2)
        assert [chat.id for chat in first] == ["a", "b"]
        assert [chat.id for chat in await storage.chats.conversations("ana", after="b", limit=2)] == ["c"]
        assert await storage.chats.conversation("ana", "b") == first[1]
        assert (
            await storage.chats.conversation("ana", "d")
            is None
            is await storage.chats.conversation("ana", "none")
        )
        for id in ("c1", "c2"):
            await storage.transcript.add_cycle(cycle(id, chat="a"))
        await storage.transcript.add_cycle(cycle("c3", user="bia", chat="d"))
        found = await storage.transcript.cycles("ana", ["c2", "c3", "nobody", "c1"])
        assert [one.id for one in found] == ["c2", "c1"]
        stored = await storage.memories.commit(
            "ana", [new(record(id, content=id), "x") for id in ("m1", "m2", "m3")]
        )
        await storage.memories.commit("bia", [new(record("m4", "bia"))])
        (changed,) = await storage.memories.commit("ana", [change(stored[0], status="hidden")])
        assert await storage.memories.listing("ana", STATUSES, after=0, limit=2) == stored[1:]
        assert await storage.memories.listing("ana", STATUSES, after=3, limit=2) == [changed]
        assert await storage.memories.listing("ana", ("active",), after=1, limit=9) == stored[1:]
        assert await storage.memories.listing("ana", ("active",), after=2, limit=1) == stored[2:]
        assert [row.number for row in await storage.memories.journal("ana", after=1, limit=2)] == [2, 3]
        assert await storage.memories.journal("ana", after=4, limit=2) == []

    async def test_a_chat_of_a_forgotten_user_begins_later(self, storage: Storage) -> None:
        late = START + timedelta(days=2)
        await storage.chats.claim("chat", "ana", START)
        await storage.users.forget("ana", late)
        for at in (START, late):
            for created in (None, START):
                with pytest.raises(NotAllowed) as refused:
                    await storage.chats.claim("chat", "ana", at, created=created)
                assert refused.value.code == "user_forgotten"
        assert await storage.chats.owner("chat") is None
        now = late + timedelta(seconds=1)
        known = await storage.chats.claim("chat", "ana", now, created=START)
        assert (known.created, known.updated) == (START, START)
        assert await storage.chats.claim("chat", "ana", START) == known
        assert (await storage.chats.claim("new", "ana", now)).created == now
        assert (await storage.chats.claim("other", "bia", START)).created == START

    async def test_the_pulse_tells_the_last_change_and_of_forgetting(self, storage: Storage) -> None:
        assert await storage.users.pulse("ana") == ((), None)
        first, last = await storage.memories.commit(
            "ana", [new(record(id, content=id)) for id in ("m1", "m2")]
        )
        row = (await storage.memories.journal("ana", limit=1))[0]
        assert await storage.users.pulse("ana") == (((2, row.at, last.id),), None)
        assert first.id != last.id and await storage.users.pulse("bia") == ((), None)
        late = START + timedelta(days=2)
        await storage.users.forget("ana", late)
        assert await storage.users.pulse("ana") == ((), late)

    async def test_a_glimpse_shows_what_a_read_does_or_nothing(self, storage: Storage) -> None:
        async def agreed() -> bool:
            seen, feed = storage.glimpse("ana"), await storage.transcript.cycle_feed("ana", 0, model=None)
            settings = await storage.documents.settings("ana") or {}
            told = seen is None or seen.settings == settings.get("revision")
            return told and (seen is None or seen[:2] == (await storage.users.pulse("ana"), feed.number))

        await storage.chats.claim("chat", "ana", START)
        assert await agreed()
        await storage.memories.commit("ana", [new(record("m1"))])
        assert await agreed()
        await storage.transcript.append_cycle(close(cycle()))
        assert await agreed()
        await storage.documents.change_settings("ana", {"paused": True})
        assert await agreed()
        await storage.users.forget("ana", START + timedelta(days=2))
        assert await agreed()

    async def test_nothing_begins_before_its_user_was_forgotten(self, storage: Storage) -> None:
        late, now = START + timedelta(days=2), START + timedelta(days=3)

        def make(id: str) -> Callable[[Conversation], Cycle]:
            return lambda chat: cycle(id, chat=chat.id, parent=chat.tip)

        await storage.transcript.begin("ana", "chat", START, make("c0"))
        await storage.users.forget("ana", late)
        for known in (False, True):  # in a chat that is new, and in one that began anew
            for at in (START, late):
                with pytest.raises(NotAllowed) as refused:
                    await storage.transcript.begin("ana", "chat", at, make("c1"))
                assert refused.value.code == "user_forgotten"
            assert (await storage.chats.owner("chat") is not None) is known
            assert await storage.transcript.cycle("ana", "c1") is None
            begun = await storage.transcript.begin("ana", "chat", now, make(f"c{2 + known}"))
            assert begun.cycle is not None and len(begun.interrupted) == known
        assert (
            await storage.transcript.begin("bia", "other", START, lambda chat: cycle("b", "bia", "other"))
        ).cycle

    async def test_a_chat_has_a_title(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        assert await storage.chats.rename("ana", "chat", "Viagem \0")
        assert not await storage.chats.rename("bia", "chat", "x")
        assert not await storage.chats.rename("ana", "other", "x")
        assert (await storage.chats.claim("chat", "ana", START)).title == "Viagem \0"
        assert [chat.title for chat in await storage.chats.conversations("ana", after=None, limit=9)] == [
            "Viagem \0"
        ]
