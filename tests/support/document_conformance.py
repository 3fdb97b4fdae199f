"""What every storage backend must do for documents, settings and pending cycles."""

import asyncio
from datetime import timedelta

import pytest

from support.memories import START, said
from support.storage_conformance import close, cycle
from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.model import Cycle, MessageVector, Variant
from thoughtcycle.memory.model.conversation import UserSettings
from thoughtcycle.memory.model.judgement import Judgement, LayerMark
from thoughtcycle.memory.storage import DocumentName, Storage, StoredDocument

PROFILE: DocumentName = ("profile", "")
CHAT: DocumentName = ("conversation", "chat")
SECOND = timedelta(seconds=1)


def judged(known: Cycle) -> Cycle:
    """The cycle as formation leaves it."""
    formed = {"judgement": Judgement(importance=50), "marks": (LayerMark(layer="medium", priority=7),)}
    return known.model_copy(update={**formed, "formation": "done"})


def pending(id: str, seconds: int, user: str = "ana", chat: str = "chat") -> Cycle:
    """A closed cycle that waits for formation."""
    at = START + timedelta(seconds=seconds)
    return close(cycle(id, user, chat)).model_copy(update={"opened_at": at})


class DocumentConformance:
    """Uses the fixture `storage` of the class that it is mixed into."""

    @pytest.mark.spec("CM-1")
    async def test_a_document_comes_back_as_it_was_written(self, storage: Storage) -> None:
        for user, text in (("ana", '{"a": "\\u0000 ␀ ção"}'), ("bia", "{}")):
            assert await storage.documents.put(user, PROFILE, text, before=0, at=START)
        assert await storage.documents.put("ana", ("conversation", "a\0b"), "not JSON", before=0, at=START)
        found = await storage.documents.find("ana", [PROFILE, CHAT, ("conversation", "a\0b")])
        assert sorted(found, key=lambda one: one.kind) == [
            StoredDocument("ana", "conversation", "a\0b", 1, START, "not JSON"),
            StoredDocument("ana", "profile", "", 1, START, '{"a": "\\u0000 ␀ ção"}'),
        ]
        assert await storage.documents.find("ana", []) == []
        assert await storage.documents.find("carl", [PROFILE]) == []

    @pytest.mark.spec("CM-1")
    async def test_of_two_writers_one_gets_its_way(self, storage: Storage) -> None:
        first = [storage.documents.put("ana", PROFILE, str(n), before=0, at=START) for n in range(5)]
        assert sorted(await asyncio.gather(*first)) == [False] * 4 + [True]
        assert not await storage.documents.put("ana", PROFILE, "9", before=2, at=START)
        assert not await storage.documents.put("bia", PROFILE, "9", before=1, at=START)
        then = [storage.documents.put("ana", PROFILE, "then", before=1, at=START) for _ in range(5)]
        assert sorted(await asyncio.gather(*then)) == [False] * 4 + [True]
        (kept,) = await storage.documents.find("ana", [PROFILE])
        assert (kept.revision, kept.document) == (2, "then")

    @pytest.mark.spec("CM-1", "BY-5")
    async def test_the_document_of_a_chat_is_one_users(self, storage: Storage) -> None:
        assert await storage.documents.put("ana", CHAT, "{}", before=0, at=START)
        assert not await storage.documents.put("bia", CHAT, "x", before=0, at=START)
        assert not await storage.documents.put("bia", CHAT, "x", before=1, at=START)
        assert await storage.documents.find("bia", [CHAT]) == []
        assert await storage.documents.page("bia", "conversation", limit=9, offset=0) == []

    async def test_what_was_dropped_is_not_written_back(self, storage: Storage) -> None:
        await storage.documents.put("ana", CHAT, "words", before=0, at=START)
        await storage.documents.drop("ana", CHAT, at=START + SECOND)
        assert not await storage.documents.put("ana", CHAT, "words", before=1, at=START)
        assert not await storage.documents.put("ana", CHAT, "words", before=0, at=START)
        assert await storage.documents.find("ana", [CHAT]) == [
            StoredDocument("ana", "conversation", "chat", 2, START + SECOND, None)
        ]
        assert await storage.documents.page("ana", "conversation", limit=9, offset=0) == []
        assert await storage.documents.put("ana", CHAT, "new", before=2, at=START)
        await storage.documents.drop("ana", ("conversation", "never"), at=START)
        assert not await storage.documents.put("ana", ("conversation", "never"), "x", before=0, at=START)
        census = await storage.users.census("ana")
        assert (dict(census.sheets), census.pending) == ({"conversation": 1}, 0)

    async def test_a_document_in_the_place_of_the_owners_does_not_keep_it_from_being_dropped(
        self, storage: Storage
    ) -> None:
        assert await storage.documents.put("bia", CHAT, "{}", before=0, at=START, entries={"old": ["{}"]})
        await storage.documents.drop("ana", CHAT, at=START)
        assert await storage.documents.find("ana", [CHAT]) == []
        await storage.chats.claim("chat", "ana", START)
        await storage.documents.drop("ana", CHAT, at=START)
        assert not await storage.documents.put("ana", CHAT, "words", before=0, at=START)
        assert await storage.documents.put("ana", CHAT, "words", before=1, at=START)

    @pytest.mark.spec("CM-1", "CM-4")
    async def test_entries_stay_until_others_are_given(self, storage: Storage) -> None:
        put = storage.documents.put

        async def entries(*parts: str) -> dict[str, list[str]]:
            (found,) = await storage.documents.find("ana", [CHAT], parts=parts or None)
            return {part: list(rows) for part, rows in found.entries.items() if rows}

        odd = '{"a": "\\u0000 \U0001f980"}'
        some = {"old": ["1", odd, "3"], "ledger": ["[]"]}
        assert await put("ana", CHAT, "1", before=0, at=START, entries=some)
        assert await entries() == some
        assert await entries("old", "periods") == {"old": some["old"]}
        assert await put("ana", CHAT, "2", before=1, at=START)
        assert not await put("ana", CHAT, "x", before=1, at=START, entries={"old": ["late"]})
        assert not await put("bia", CHAT, "x", before=2, at=START, entries={"old": ["hers"]})
        assert not await put("bia", CHAT, "x", before=0, at=START, entries={"old": ["hers"]})
        (page,) = await storage.documents.page("ana", "conversation", limit=9, offset=0)
        assert (page.revision, page.document, await entries()) == (2, "2", some)
        assert {part: list(rows) for part, rows in page.entries.items()} == some
        changed = {"old": [odd, "3", "4", "5"]}
        assert await put("ana", CHAT, "3", before=2, at=START, entries=changed)
        assert await entries() == some | changed
        assert await put("ana", CHAT, "4", before=3, at=START, entries={"old": [odd], "ledger": []})
        assert await entries() == {"old": [odd]}
        before = (await storage.users.census("ana")).bytes
        await storage.documents.drop("ana", CHAT, at=START)
        assert await entries() == {}
        assert (await storage.users.census("ana")).bytes < before
        assert await put("ana", CHAT, "6", before=5, at=START)
        assert await entries() == {}

    @pytest.mark.spec("SM-6", "BY-5")
    async def test_settings_change_one_by_one(self, storage: Storage) -> None:
        assert await storage.documents.settings("ana") is None
        zones = [{"time_zone": str(number)} for number in range(5)]
        changes = [{"paused": True}, {"language": "pt"}, *zones]
        told = await asyncio.gather(*(storage.documents.change_settings("ana", one) for one in changes))
        assert sorted(one["revision"] for one in told) == list(range(1, 8))
        known = await storage.documents.settings("ana")
        assert known is not None and UserSettings(user="ana", **known).paused
        assert (known["language"], known["revision"], known.get("smart_context")) == ("pt", 7, None)
        assert known["time_zone"] in "01234"
        assert (
            await storage.documents.change_settings("ana", {"language": None})
            | {"revision": 7, "language": "pt"}
            == known
        )
        assert await storage.documents.settings("bia") is None
        assert dict((await storage.users.census("ana")).sheets) == {"settings": 1}
        assert await storage.users.listing() == ["ana"]

    @pytest.mark.spec("CM-1")
    async def test_the_last_updated_come_first(self, storage: Storage) -> None:
        for number, chat in enumerate(("b", "a", "c")):
            at = START + number * SECOND
            await storage.documents.put("ana", ("conversation", chat), "{}", before=0, at=at)
        await storage.documents.put("ana", PROFILE, "{}", before=0, at=START)
        await storage.documents.put("ana", ("conversation", "b"), "2", before=1, at=START + 9 * SECOND)

        async def page(limit: int, offset: int) -> list[str]:
            found = await storage.documents.page("ana", "conversation", limit=limit, offset=offset)
            return [one.id for one in found]

        assert await page(9, 0) == ["b", "c", "a"]
        assert await page(1, 1) == ["c"]
        assert await page(9, 3) == []

    @pytest.mark.spec("BY-4")
    async def test_documents_go_with_their_user_and_late_ones_are_refused(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        await storage.documents.put("ana", PROFILE, "{}", before=0, at=START)
        await storage.documents.put("ana", CHAT, "{}", before=0, at=START, entries={"old": ["{}"]})
        await storage.documents.put("bia", PROFILE, "{}", before=0, at=START)
        assert "ana" in await storage.users.listing()
        storage_of_before = storage.database.epochs._epochs.copy()  # type: ignore[attr-defined]
        counts = await storage.users.forget("ana", START)
        assert counts["documents"] == 2
        assert await storage.users.traces("ana", ["chat"]) == {}
        storage.database.epochs._epochs.update(storage_of_before)  # type: ignore[attr-defined]
        with pytest.raises(NotAllowed) as refused:
            await storage.documents.put("ana", PROFILE, "late", before=0, at=START)
        assert refused.value.code == "user_forgotten"
        assert await storage.documents.find("ana", [PROFILE]) == []
        await storage.chats.claim("chat", "ana", START + SECOND)
        await storage.documents.put("ana", CHAT, "{}", before=0, at=START + SECOND)
        assert [dict(one.entries) for one in await storage.documents.find("ana", [CHAT])] == [{}]
        assert len(await storage.documents.find("bia", [PROFILE])) == 1

    async def test_pending_cycles_come_oldest_first(self, storage: Storage) -> None:
        for user, chat in (("ana", "chat"), ("bia", "other")):
            await storage.chats.claim(chat, user, START)
        assert await storage.jobs.pending_cycles(None, limit=9) == []
        assert await storage.jobs.pending_users(limit=9) == []
        await storage.transcript.add_cycle(pending("c3", 3))
        await storage.transcript.add_cycle(pending("c1", 1))
        await storage.transcript.add_cycle(pending("c2", 2, "bia", "other"))
        await storage.transcript.add_cycle(cycle("c4"))
        found = await storage.jobs.pending_cycles(None, limit=9)
        assert [one.id for one in found] == ["c1", "c2", "c3"]
        assert [one.id for one in await storage.jobs.pending_cycles("ana", limit=1)] == ["c1"]
        assert [one.id for one in await storage.jobs.pending_cycles("ana", limit=9)] == ["c1", "c3"]
        assert await storage.jobs.pending_users(limit=9) == ["ana", "bia"]
        assert await storage.jobs.pending_users(limit=1) == ["ana"]
        assert (await storage.users.census("ana")).pending == 2
        await storage.transcript.amend_cycle("ana", "c1", judged)
        assert [one.id for one in await storage.jobs.pending_cycles(None, limit=9)] == ["c2", "c3"]
        assert await storage.jobs.pending_users(limit=9) == ["bia", "ana"]
        assert await storage.jobs.pending_cycles("nobody", limit=9) == []

    async def test_what_formation_says_of_a_cycle_changes_no_words(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        for id in ("c1", "c2"):
            await storage.transcript.add_cycle(cycle(id))
            await storage.transcript.amend_cycle("ana", id, close, tip=True)
        vectors = [MessageVector(cycle="c1", digest="d", model="m", data=b"1234")]
        await storage.transcript.keep_message_vectors("ana", vectors)
        before = await storage.transcript.cycle_feed("ana", 0, model="m")
        assert await storage.transcript.amend_cycle("bia", "c1", judged) is None
        for change in (judged, judged):
            amended = await storage.transcript.amend_cycle("ana", "c1", change)
            assert amended is not None and amended.cycle.judgement == Judgement(importance=50)
        after = await storage.transcript.cycle_feed("ana", 0, model="m")
        assert [one.id for one in after.cycles] == ["c1", "c2"]
        assert after.cycles[0] == judged(before.cycles[0])
        assert list(after.vectors) == vectors
        await storage.transcript.keep_message_vectors("ana", [vectors[0].model_copy(update={"digest": "e"})])
        feed = await storage.transcript.cycle_feed("ana", before.number, model="m")
        assert feed.cycles == ()
        assert len((await storage.transcript.cycle_feed("ana", 0, model="m")).vectors) == 2

        def answered(known: Cycle) -> Cycle:
            again = Variant(execution="e2", messages=(said("x", "3", "assistant"),), steps=(), at=START)
            return known.model_copy(update={"variants": (*known.variants, again)})

        await storage.transcript.amend_cycle("ana", "c1", answered)
        feed = await storage.transcript.cycle_feed("ana", feed.number, model="m")
        assert ([one.id for one in feed.cycles], feed.vectors) == (["c1"], ())
        assert (await storage.transcript.cycle_feed("ana", 0, model="m")).vectors == ()

    async def test_a_cycle_is_numbered_anew_when_asked_for(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        for id in ("c1", "c2"):
            await storage.transcript.add_cycle(pending(id, 0))
        await storage.transcript.amend_cycle("ana", "c1", lambda known: known, anew=True)
        assert [one.id for one in (await storage.transcript.cycle_feed("ana", 0, model=None)).cycles] == [
            "c2",
            "c1",
        ]
