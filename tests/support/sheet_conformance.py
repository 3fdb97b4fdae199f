"""What every storage backend must do for sheets and pending cycles; mixed in beside `StorageConformance`."""

import asyncio
from datetime import timedelta

import pytest

from support.memories import START, said
from support.storage_conformance import close, cycle
from thoughtcycle.memory.judgement import Judgement, LayerMark
from thoughtcycle.memory.records import Cycle, MessageVector, Variant
from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.memory.storage.sheet_port import Sheet
from thoughtcycle.prompts.errors import NotAllowed

PROFILE, SETTINGS = ("profile", ""), ("settings", "")
SECOND = timedelta(seconds=1)


def judged(known: Cycle) -> Cycle:
    """The cycle as formation leaves it."""
    formed = {"judgement": Judgement(importance=50), "marks": (LayerMark(layer="medium", priority=7),)}
    return known.model_copy(update={**formed, "formation": "done"})


def pending(id: str, seconds: int, user: str = "ana", chat: str = "chat") -> Cycle:
    """A closed cycle that waits for formation."""
    at = START + timedelta(seconds=seconds)
    return close(cycle(id, user, chat)).model_copy(update={"opened_at": at})


class SheetConformance:
    """Uses the fixture `storage` of the class that it is mixed into."""

    @pytest.mark.spec("CM-1")
    async def test_a_sheet_comes_back_as_it_was_written(self, storage: Storage) -> None:
        for user, text in (("ana", '{"a": "\\u0000 ␀ ção"}'), ("bia", "{}")):
            assert await storage.put_sheet(user, PROFILE, text, before=0, at=START)
        assert await storage.put_sheet("ana", ("conversation", "a\0b"), "not JSON", before=0, at=START)
        found = await storage.sheets("ana", [PROFILE, SETTINGS, ("conversation", "a\0b")])
        assert sorted(found, key=lambda one: one.kind) == [
            Sheet("ana", "conversation", "a\0b", 1, START, "not JSON"),
            Sheet("ana", "profile", "", 1, START, '{"a": "\\u0000 ␀ ção"}'),
        ]
        assert await storage.sheets("ana", []) == []
        assert await storage.sheets("carl", [PROFILE]) == []

    @pytest.mark.spec("CM-1")
    async def test_of_two_writers_one_gets_its_way(self, storage: Storage) -> None:
        first = [storage.put_sheet("ana", PROFILE, str(n), before=0, at=START) for n in range(5)]
        assert sorted(await asyncio.gather(*first)) == [False] * 4 + [True]
        assert not await storage.put_sheet("ana", PROFILE, "9", before=2, at=START)
        assert not await storage.put_sheet("bia", PROFILE, "9", before=1, at=START)
        then = [storage.put_sheet("ana", PROFILE, "then", before=1, at=START) for _ in range(5)]
        assert sorted(await asyncio.gather(*then)) == [False] * 4 + [True]
        (kept,) = await storage.sheets("ana", [PROFILE])
        assert (kept.revision, kept.document) == (2, "then")

    @pytest.mark.spec("CM-1", "BY-5")
    async def test_the_sheet_of_a_chat_is_one_users(self, storage: Storage) -> None:
        name = ("conversation", "chat")
        assert await storage.put_sheet("ana", name, "{}", before=0, at=START)
        assert not await storage.put_sheet("bia", name, "x", before=0, at=START)
        assert not await storage.put_sheet("bia", name, "x", before=1, at=START)
        assert await storage.sheets("bia", [name]) == []
        assert await storage.sheet_page("bia", "conversation", limit=9, offset=0) == []

    async def test_what_was_dropped_is_not_written_back(self, storage: Storage) -> None:
        name = ("conversation", "chat")
        await storage.put_sheet("ana", name, "words", before=0, at=START)
        await storage.drop_sheet("ana", name, at=START + SECOND)
        assert not await storage.put_sheet("ana", name, "words", before=1, at=START)
        assert not await storage.put_sheet("ana", name, "words", before=0, at=START)
        assert await storage.sheets("ana", [name]) == [
            Sheet("ana", "conversation", "chat", 2, START + SECOND, None)
        ]
        assert await storage.sheet_page("ana", "conversation", limit=9, offset=0) == []
        assert await storage.put_sheet("ana", name, "new", before=2, at=START)
        await storage.drop_sheet("ana", ("conversation", "never"), at=START)
        assert not await storage.put_sheet("ana", ("conversation", "never"), "x", before=0, at=START)
        census = await storage.census("ana")
        assert (dict(census.sheets), census.pending) == ({"conversation": 1}, 0)

    async def test_a_sheet_in_the_place_of_the_owners_does_not_keep_it_from_being_dropped(
        self, storage: Storage
    ) -> None:
        name = ("conversation", "chat")
        assert await storage.put_sheet("bia", name, "{}", before=0, at=START, annex="{}")
        await storage.drop_sheet("ana", name, at=START)
        assert await storage.sheets("ana", [name]) == []
        await storage.claim("chat", "ana", START)
        await storage.drop_sheet("ana", name, at=START)
        assert not await storage.put_sheet("ana", name, "words", before=0, at=START)
        assert await storage.put_sheet("ana", name, "words", before=1, at=START)

    @pytest.mark.spec("CM-1")
    async def test_an_annex_stays_until_another_one_is_given(self, storage: Storage) -> None:
        name, put = ("conversation", "chat"), storage.put_sheet

        async def annex(shown: bool = True) -> str | None:
            (found,) = await storage.sheets("ana", [name], annexes=shown)
            return found.annex

        assert await put("ana", name, "1", before=0, at=START, annex="a\u0000 \U0001f980")
        assert (await annex(), await annex(False)) == ("a\u0000 \U0001f980", None)
        assert await put("ana", name, "2", before=1, at=START)
        assert not await put("ana", name, "x", before=1, at=START, annex="late")
        assert not await put("bia", name, "x", before=2, at=START, annex="hers")
        assert not await put("bia", name, "x", before=0, at=START, annex="hers")
        (page,) = await storage.sheet_page("ana", "conversation", limit=9, offset=0)
        assert (page.revision, page.document, page.annex) == (2, "2", "a\u0000 \U0001f980")
        assert await put("ana", name, "3", before=2, at=START, annex="b")
        assert await annex() == "b"
        assert await put("ana", name, "4", before=3, at=START, annex="")
        assert await annex() is None
        assert await put("ana", name, "5", before=4, at=START, annex="c")
        before = (await storage.census("ana")).bytes
        await storage.drop_sheet("ana", name, at=START)
        assert await annex() is None
        assert (await storage.census("ana")).bytes < before
        assert await put("ana", name, "6", before=6, at=START)
        assert await annex() is None

    @pytest.mark.spec("CM-1")
    async def test_the_last_updated_come_first(self, storage: Storage) -> None:
        for number, chat in enumerate(("b", "a", "c")):
            at = START + number * SECOND
            await storage.put_sheet("ana", ("conversation", chat), "{}", before=0, at=at)
        await storage.put_sheet("ana", PROFILE, "{}", before=0, at=START)
        await storage.put_sheet("ana", ("conversation", "b"), "2", before=1, at=START + 9 * SECOND)

        async def page(limit: int, offset: int) -> list[str]:
            found = await storage.sheet_page("ana", "conversation", limit=limit, offset=offset)
            return [sheet.id for sheet in found]

        assert await page(9, 0) == ["b", "c", "a"]
        assert await page(1, 1) == ["c"]
        assert await page(9, 3) == []

    @pytest.mark.spec("BY-4")
    async def test_sheets_go_with_their_user_and_late_ones_are_refused(self, storage: Storage) -> None:
        await storage.claim("chat", "ana", START)
        await storage.put_sheet("ana", PROFILE, "{}", before=0, at=START)
        await storage.put_sheet("ana", ("conversation", "chat"), "{}", before=0, at=START, annex="{}")
        await storage.put_sheet("bia", PROFILE, "{}", before=0, at=START)
        assert "ana" in await storage.users()
        storage_of_before = storage._epochs._known.copy()  # type: ignore[attr-defined]
        counts = await storage.forget("ana", START)
        assert counts["sheets"] == 2
        assert await storage.traces("ana", ["chat"]) == {}
        storage._epochs._known.update(storage_of_before)  # type: ignore[attr-defined]
        with pytest.raises(NotAllowed) as refused:
            await storage.put_sheet("ana", PROFILE, "late", before=0, at=START)
        assert refused.value.code == "user_forgotten"
        assert await storage.sheets("ana", [PROFILE]) == []
        await storage.claim("chat", "ana", START + SECOND)
        await storage.put_sheet("ana", ("conversation", "chat"), "{}", before=0, at=START + SECOND)
        assert [one.annex for one in await storage.sheets("ana", [("conversation", "chat")])] == [None]
        assert len(await storage.sheets("bia", [PROFILE])) == 1

    async def test_pending_cycles_come_oldest_first(self, storage: Storage) -> None:
        for user, chat in (("ana", "chat"), ("bia", "other")):
            await storage.claim(chat, user, START)
        assert await storage.pending_cycles(None, limit=9) == []
        assert await storage.pending_users(limit=9) == []
        await storage.add_cycle(pending("c3", 3))
        await storage.add_cycle(pending("c1", 1))
        await storage.add_cycle(pending("c2", 2, "bia", "other"))
        await storage.add_cycle(cycle("c4"))
        found = await storage.pending_cycles(None, limit=9)
        assert [one.id for one in found] == ["c1", "c2", "c3"]
        assert [one.id for one in await storage.pending_cycles("ana", limit=1)] == ["c1"]
        assert [one.id for one in await storage.pending_cycles("ana", limit=9)] == ["c1", "c3"]
        assert await storage.pending_users(limit=9) == ["ana", "bia"]
        assert await storage.pending_users(limit=1) == ["ana"]
        assert (await storage.census("ana")).pending == 2
        await storage.amend_cycle("ana", "c1", judged)
        assert [one.id for one in await storage.pending_cycles(None, limit=9)] == ["c2", "c3"]
        assert await storage.pending_users(limit=9) == ["bia", "ana"]
        assert await storage.pending_cycles("nobody", limit=9) == []

    async def test_what_formation_says_of_a_cycle_changes_no_words(self, storage: Storage) -> None:
        await storage.claim("chat", "ana", START)
        for id in ("c1", "c2"):
            await storage.add_cycle(cycle(id))
            await storage.amend_cycle("ana", id, close, tip=True)
        vectors = [MessageVector(cycle="c1", digest="d", model="m", data=b"1234")]
        await storage.keep_message_vectors("ana", vectors)
        before = await storage.cycle_feed("ana", 0, model="m")
        assert await storage.amend_cycle("bia", "c1", judged) is None
        for change in (judged, judged):
            amended = await storage.amend_cycle("ana", "c1", change)
            assert amended is not None and amended.cycle.judgement == Judgement(importance=50)
        after = await storage.cycle_feed("ana", 0, model="m")
        assert [one.id for one in after.cycles] == ["c1", "c2"]
        assert after.cycles[0] == judged(before.cycles[0])
        assert list(after.vectors) == vectors
        await storage.keep_message_vectors("ana", [vectors[0].model_copy(update={"digest": "e"})])
        feed = await storage.cycle_feed("ana", before.number, model="m")
        assert feed.cycles == ()
        assert len((await storage.cycle_feed("ana", 0, model="m")).vectors) == 2

        def answered(known: Cycle) -> Cycle:
            again = Variant(execution="e2", messages=(said("x", "3", "assistant"),), steps=(), at=START)
            return known.model_copy(update={"variants": (*known.variants, again)})

        await storage.amend_cycle("ana", "c1", answered)
        feed = await storage.cycle_feed("ana", feed.number, model="m")
        assert ([one.id for one in feed.cycles], feed.vectors) == (["c1"], ())
        assert (await storage.cycle_feed("ana", 0, model="m")).vectors == ()

    async def test_a_cycle_is_numbered_anew_when_asked_for(self, storage: Storage) -> None:
        await storage.claim("chat", "ana", START)
        for id in ("c1", "c2"):
            await storage.add_cycle(pending(id, 0))
        await storage.amend_cycle("ana", "c1", lambda known: known, anew=True)
        assert [one.id for one in (await storage.cycle_feed("ana", 0, model=None)).cycles] == ["c2", "c1"]
