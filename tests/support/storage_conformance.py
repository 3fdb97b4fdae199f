"""What every storage backend must do. A backend's test file subclasses `StorageConformance` and gives `storage`."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from support.memories import START, record, said, step, vector
from thoughtcycle.memory.model import (
    Access,
    Conversation,
    Cycle,
    MemoryRecord,
    MessageVector,
    Source,
    Tombstone,
    Variant,
    Vector,
)
from thoughtcycle.memory.model.job import new_job
from thoughtcycle.memory.storage import Conflict, ExistingRecords, Lookup, Storage, Write
from thoughtcycle.memory.storage.serialization import identity_of

HOSTILE = (
    "'; DROP TABLE memories; --",
    '{"$gt": ""}',
    "a\x01b",
    "\U0001f980 ção \u202e",
    "x" * 1_000_000,
)


def new(memory: MemoryRecord, *texts: str) -> Write:
    """The write that saves a memory with a vector per text."""
    vectors = tuple(vector(memory, text) for text in texts)
    listed = memory.model_copy(update={"vector_ids": tuple(one.id for one in vectors)})
    return Write(listed, "save", START, vectors=vectors)


def change(before: MemoryRecord, vectors: Sequence[Vector] | None = None, **fields: object) -> Write:
    """The write that updates a stored memory."""
    after = before.model_copy(update=fields)
    if vectors is not None:
        after = after.model_copy(update={"vector_ids": tuple(one.id for one in vectors)})
    return Write(
        after, "update", START, before=before, vectors=tuple(vectors) if vectors is not None else None
    )


def cycle(id: str = "c1", user: str = "ana", chat: str = "chat", parent: str | None = None) -> Cycle:
    """An open cycle."""
    return Cycle(
        id=id,
        user=user,
        chat=chat,
        channel="cli",
        parent=parent,
        message=said("oi"),
        opened_at=START,
        heartbeat=START,
    )


def close(known: Cycle) -> Cycle:
    """The cycle with a reply."""
    reply = Variant(execution="e", messages=(said("olá", "2", "assistant"),), steps=(step(),), at=START)
    return known.model_copy(update={"variants": (*known.variants, reply), "formation": "pending"})


def _nothing(standing: ExistingRecords) -> tuple[tuple[()], Sequence[MemoryRecord]]:
    """The plan that writes nothing, and tells what stands."""
    return (), standing.records


class StorageConformance:
    """Subclass it, override the fixture `storage`, done."""

    transactions = True
    """Whether `commit` is all or nothing; without, it stops at the first conflict."""

    @pytest.fixture
    def storage(self) -> Storage:
        raise NotImplementedError("override the fixture `storage`")

    @pytest.mark.spec("TC-15")
    async def test_a_document_comes_back_as_it_was_written(self, storage: Storage) -> None:
        memory = record(
            content={"a": [1, None, "é"]},
            type="json",
            kind="pref",
            key="k",
            bindings=("x", "y"),
            tags=("t",),
            source=Source(cycle="c", words="quote ' and \" and \0"),
            pinned=True,
            weight=0.25,
        )
        (stored,) = await storage.memories.commit("ana", [new(memory, "x", "y")])
        assert stored.revision == 1
        assert await storage.memories.records("ana", ["m1"]) == [stored]
        assert stored == new(memory, "x", "y").record.model_copy(update={"revision": 1})
        assert sorted(one.text for one in await storage.memories.vectors("ana", ["m1"])) == ["x", "y"]
        assert {one.memory for one in await storage.memories.vectors("ana", ["m1"])} == {"m1"}

    async def test_a_change_keeps_its_vectors_unless_new_ones_are_given(self, storage: Storage) -> None:
        (first,) = await storage.memories.commit("ana", [new(record(), "x")])
        (second,) = await storage.memories.commit("ana", [change(first, content="B")])
        assert [one.text for one in await storage.memories.vectors("ana", ["m1"])] == ["x"]
        await storage.memories.commit("ana", [change(second, [vector(second, "z")], content="C")])
        assert [one.text for one in await storage.memories.vectors("ana", ["m1"])] == ["z"]

    async def test_vectors_that_the_document_does_not_list_are_a_mistake(self, storage: Storage) -> None:
        memory = record()
        with pytest.raises(ValueError, match="not those that it lists"):
            await storage.memories.commit("ana", [Write(memory, "save", START, vectors=(vector(memory),))])
        assert await storage.memories.records("ana", ["m1"]) == []

    @pytest.mark.spec("BY-1")
    async def test_every_change_has_a_journal_row_with_the_next_number(self, storage: Storage) -> None:
        (first,) = await storage.memories.commit("ana", [new(record())])
        second, _ = await storage.memories.commit("ana", [change(first, content="B"), new(record("m2"))])
        await storage.memories.commit("bia", [new(record("m3", "bia"))])
        rows = await storage.memories.journal("ana")
        assert [(row.number, row.op, row.memory) for row in rows] == [
            (3, "save", "m2"),
            (2, "update", "m1"),
            (1, "save", "m1"),
        ]
        assert [row.before for row in rows] == [None, first, None]
        assert second.revision == 2
        assert [row.number for row in await storage.memories.journal("ana", memories=["m1"])] == [2, 1]
        for asked, numbers in (({"m1", "m2"}, [3, 2, 1]), ({"m2", "m3"}, [3]), ((), [])):
            assert [row.number for row in await storage.memories.journal("ana", memories=asked)] == numbers
        both = await storage.memories.journal("ana", memories=["m1", "m2"], before=3, limit=1)
        assert [row.number for row in both] == [2]
        assert [row.number for row in await storage.memories.journal("ana", before=3, limit=1)] == [2]
        assert [row.number for row in await storage.memories.journal("bia")] == [1]

    async def test_another_revision_than_expected_is_a_conflict(self, storage: Storage) -> None:
        (first,) = await storage.memories.commit("ana", [new(record())])
        await storage.memories.commit("ana", [change(first, content="B")])
        with pytest.raises(Conflict):
            await storage.memories.commit("ana", [change(first, content="C")])
        with pytest.raises(Conflict):
            await storage.memories.commit("ana", [new(record())])
        with pytest.raises(Conflict):
            await storage.memories.commit("ana", [change(record("unknown"), content="C")])
        assert [one.content for one in await storage.memories.records("ana", ["m1"])] == ["B"]
        assert len(await storage.memories.journal("ana")) == 2

    async def test_a_key_names_one_active_memory(self, storage: Storage) -> None:
        (first,) = await storage.memories.commit("ana", [new(record(key="diet"))])
        with pytest.raises(Conflict):
            await storage.memories.commit("ana", [new(record("m2", key="diet"))])
        await storage.memories.commit("bia", [new(record("m3", "bia", key="diet"))])
        await storage.memories.commit("ana", [change(first, status="hidden")])
        await storage.memories.commit("ana", [new(record("m2", key="diet"))])

    async def test_a_conflict_undoes_the_whole_commit(self, storage: Storage) -> None:
        if not self.transactions:
            pytest.skip("this backend has no transactions")
        (first,) = await storage.memories.commit("ana", [new(record(), "x")])
        stale = record("m1", revision=7)
        with pytest.raises(Conflict):
            await storage.memories.commit(
                "ana", [new(record("m2"), "y"), change(first, content="B"), change(stale)]
            )
        assert [one.content for one in await storage.memories.records("ana", ["m1", "m2"])] == ["Vegetariano"]
        assert await storage.memories.vectors("ana", ["m2"]) == []
        assert len(await storage.memories.journal("ana")) == 1

    async def test_many_writers_make_one_unbroken_journal(self, storage: Storage) -> None:
        writes = [
            storage.memories.commit("ana", [new(record(f"m{n}", content=str(n)), "x")]) for n in range(20)
        ]
        await asyncio.gather(*writes)
        assert [row.number for row in await storage.memories.journal("ana")] == list(range(20, 0, -1))

    async def test_same_finds_active_memories_by_content_and_key(self, storage: Storage) -> None:
        one, two, three = record("m1", key="k"), record("m2", content="B"), record("m3", content="C", key="l")
        stored = await storage.memories.commit("ana", [new(one), new(two), new(three)])
        await storage.memories.commit("ana", [change(stored[2], status="hidden")])

        async def same(identities: list[str], keys: list[str]) -> set[str]:
            return {
                found.id for found in await storage.memories.same("ana", identities=identities, keys=keys)
            }

        assert await same([identity_of(two)], ["k", "l"]) == {"m1", "m2"}
        assert await same([identity_of(three)], ["l"]) == set()
        assert await same([], []) == set()
        assert await storage.memories.same("bia", identities=[identity_of(two)], keys=["k"]) == []

    async def test_a_save_is_told_what_stands_already(self, storage: Storage) -> None:
        kept = [new(record("m1", key="k"), "x"), new(record("m2", content="B"), "y")]
        gone = record("m3", content="C", status="superseded", current="m4", merged=True)
        stored = await storage.memories.commit(
            "ana", [*kept, new(gone), new(record("m4", content="D")), new(record("m5"))]
        )

        def plan(standing: ExistingRecords) -> tuple[list[Write], set[str]]:
            assert {one.memory for one in standing.vectors} == {"m1"}
            return [change(stored[1], content="E")], {one.id for one in standing.records}

        asked = Lookup(identities=[identity_of(stored[1])], keys=["k"], ids=["m3", "unknown"])
        (written,), told = await storage.memories.save("ana", asked, plan)
        assert (written.content, told) == ("E", {"m1", "m2", "m3", "m4"})
        assert await storage.memories.records("ana", ["m2"]) == [written]
        with pytest.raises(Conflict):
            await storage.memories.save("ana", Lookup((), ["k"], ()), plan)
        assert await storage.memories.save(
            "bia", Lookup([identity_of(written)], ["k"], ["m3"]), _nothing
        ) == (
            [],
            [],
        )

    async def test_versions_are_found_by_what_they_are_versions_of(self, storage: Storage) -> None:
        days = [START + timedelta(days=day) for day in range(3)]
        for n, day in enumerate(days):
            old = record(f"v{n}", status="superseded", current="m1", valid_to=day)
            await storage.memories.commit("ana", [new(old)])
        (gone,) = await storage.memories.records("ana", ["v2"])
        await storage.memories.commit("ana", [change(gone, status="erased")])
        assert [one.id for one in await storage.memories.versions("ana", ["m1"])] == ["v1", "v0"]
        assert await storage.memories.versions("bia", ["m1"]) == []

    async def test_of_cycles_finds_active_archived_and_hidden_memories(self, storage: Storage) -> None:
        for n, status in enumerate(("active", "hidden", "superseded", "erased", "archived")):
            memory = record(f"m{n}", status=status, source=Source(cycle="c1"))
            await storage.memories.commit("ana", [new(memory)])
        assert {one.id for one in await storage.memories.of_cycles("ana", ["c1", "c2"])} == {"m0", "m1", "m4"}
        assert await storage.memories.of_cycles("bia", ["c1"]) == []

    @pytest.mark.spec("LM-12")
    @pytest.mark.parametrize(
        "content",
        ["curto", "a\0b \u2400 ção " * 99, {"a": [1.5, None, "é" * 99]}, {"zlib": "e"}, None, [1, 2]],
    )
    async def test_an_archived_document_reads_back_exactly(self, storage: Storage, content: object) -> None:
        kept = {"kind": "bio", "key": "k", "bindings": ("x",), "tags": ("t",), "archived_at": START}
        memory = record(content=content, type="json", **kept)
        (first,) = await storage.memories.commit("ana", [new(memory, "x")])
        (aside,) = await storage.memories.commit("ana", [change(first, status="archived")])
        assert await storage.memories.listing("ana", ("archived",), limit=None, offset=0) == [aside]
        assert await storage.memories.records("ana", ["m1"]) == [aside]
        (back,) = await storage.memories.commit("ana", [change(aside, status="active")])
        assert back.model_dump(exclude={"revision"}) == first.model_dump(exclude={"revision"})
        assert await storage.memories.records("ana", ["m1"]) == [back]
        rows = await storage.memories.journal("ana", memories=["m1"])
        assert [row.before for row in rows] == [aside, first, None]
        assert [one.text for one in await storage.memories.vectors("ana", ["m1"])] == ["x"]

    async def test_listing_gives_the_last_changed_first(self, storage: Storage) -> None:
        for n in range(4):
            await storage.memories.commit("ana", [new(record(f"m{n}", content=str(n)))])
        (first,) = await storage.memories.records("ana", ["m0"])
        await storage.memories.commit("ana", [change(first, content="again")])
        page = await storage.memories.listing("ana", ("active",), limit=2, offset=1)
        assert [one.id for one in page] == ["m3", "m2"]
        everything = await storage.memories.listing("ana", ("active", "hidden"), limit=None, offset=0)
        assert [one.id for one in everything] == ["m0", "m3", "m2", "m1"]
        assert await storage.memories.listing("ana", (), limit=None, offset=0) == []

    async def test_records_keep_the_order_asked_for_and_leave_out_the_unknown(self, storage: Storage) -> None:
        ids = [f"m{n}" for n in range(1_200)]
        await storage.memories.commit("ana", [new(record(id, content=id)) for id in ids])
        found = await storage.memories.records("ana", [*ids[::-1], "nobody"])
        assert [one.id for one in found] == ids[::-1]

    @pytest.mark.spec("LM-9")
    async def test_accesses_add_up_outside_documents_and_journal(self, storage: Storage) -> None:
        stored = await storage.memories.commit("ana", [new(record()), new(record("m2\0", content="B"))])
        (gone,) = await storage.memories.commit("ana", [new(record("m3", content="C"))])
        await storage.memories.commit("ana", [change(gone, status="erased", content=None)])
        late = START + timedelta(days=1)
        for at in (late, START):
            counts = {id: Access(count=2, last=at) for id in ("m1", "m3", "unknown")}
            await storage.memories.touch("ana", counts)
        await storage.memories.touch("bia", {"m1": Access(count=9, last=late)})
        await asyncio.gather(
            *(storage.memories.touch("ana", {"m2\0": Access(count=1, last=START)}) for _ in range(5))
        )
        ids = ["m1", "m2\0", "m3", "unknown"]
        found = await storage.memories.accesses("ana", ids)
        assert found == {"m1": Access(count=4, last=late), "m2\0": Access(count=5, last=START)}
        assert await storage.memories.accesses("bia", ids) == {}
        assert await storage.memories.records("ana", ids[:2]) == stored
        assert len(await storage.memories.journal("ana")) == 4
        await storage.memories.touch("ana", {})
        for count, seen in ((3, 5), (7, 7), (7, 7)):
            await storage.memories.touch("ana", {"m2\0": Access(count=count, last=START)}, at_least=True)
            assert (await storage.memories.accesses("ana", ids))["m2\0"] == Access(count=seen, last=START)
        await storage.memories.commit("ana", [change(stored[0], status="erased", content=None)])
        assert await storage.memories.accesses("ana", ids) == {"m2\0": Access(count=7, last=START)}

    @pytest.mark.spec("BY-2")
    async def test_the_feed_tells_what_an_index_lacks(self, storage: Storage) -> None:
        first, _ = await storage.memories.commit("ana", [new(record(), "x"), new(record("m2"), "y")])
        start = await storage.memories.feed("ana", 0, model="words")
        assert (start.number, {one.id for one in start.entries}) == (2, {"m1", "m2"})
        assert [sorted(block.owners) for block in start.blocks] == [[("m1", 0), ("m2", 0)]]
        assert (await storage.memories.feed("ana", 2, model="words")).entries == ()
        await storage.memories.commit("ana", [change(first, status="hidden")])
        later = await storage.memories.feed("ana", 2, model="words")
        assert (later.number, [one.status for one in later.entries], later.blocks) == (3, ["hidden"], [])
        assert {one.id for one in (await storage.memories.feed("ana", 0, model="words")).entries} == {
            "m1",
            "m2",
        }
        assert (await storage.memories.feed("ana", 0, model="another")).blocks == []
        assert (await storage.memories.feed("ana", 0, model=None)).blocks == []
        assert (await storage.memories.feed("bia", 0, model="words")).number == 0

    async def test_the_past_is_what_was_believed_then(self, storage: Storage) -> None:
        days = [START + timedelta(days=day) for day in range(4)]
        for n, status in enumerate(("superseded", "active", "archived", "hidden", "erased")):
            until = days[2] if status == "superseded" else None
            memory = record(f"m{n}", status=status, valid_from=days[1], valid_to=until)
            await storage.memories.commit("ana", [new(memory, "x")])

        async def past(user: str, day: int) -> tuple[set[str], set[str]]:
            found = await storage.memories.past(user, days[day], model="words")
            owners = {memory for block in found.blocks for memory, _ in block.owners}
            return {one.id for one in found.entries}, owners

        assert await past("ana", 0) == (set(), set())
        assert await past("ana", 1) == ({"m0", "m1", "m2"}, {"m0", "m1", "m2"})
        assert await past("ana", 2) == ({"m1", "m2"}, {"m1", "m2"})
        assert await past("bia", 1) == (set(), set())

    async def test_a_chat_belongs_to_who_came_first(self, storage: Storage) -> None:
        users = [f"user{n}" for n in range(8)]
        claimed = await asyncio.gather(*(storage.chats.claim("chat", user, START) for user in users))
        assert len({one.user for one in claimed}) == 1
        assert claimed[0].created == START

    async def test_a_cycle_is_stored_once(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        first = await storage.transcript.add_cycle(cycle())
        await storage.transcript.amend_cycle("ana", "c1", close)
        again = await storage.transcript.add_cycle(cycle())
        assert (first.closed, again.closed) == (False, True)
        assert await storage.transcript.cycle("ana", "c1") == again
        assert await storage.transcript.cycle("bia", "c1") is None

    async def test_amending_loses_no_other_writer(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        await storage.transcript.add_cycle(cycle())

        def beat(known: Cycle) -> Cycle:
            return known.model_copy(update={"heartbeat": known.heartbeat + timedelta(seconds=1)})

        await asyncio.gather(*(storage.transcript.amend_cycle("ana", "c1", beat) for _ in range(10)))
        stored = await storage.transcript.cycle("ana", "c1")
        assert stored is not None
        assert stored.heartbeat == START + timedelta(seconds=10)
        assert await storage.transcript.amend_cycle("bia", "c1", beat) is None

    async def test_a_closed_cycle_can_become_the_tip(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        await storage.transcript.add_cycle(cycle())
        assert (await storage.chats.claim("chat", "ana", START)).tip is None
        await storage.transcript.amend_cycle("ana", "c1", close, tip=True)
        assert (await storage.chats.claim("chat", "ana", START)).tip == "c1"

    async def test_amending_tells_where_the_live_branch_ended(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        ends = []
        for id in ("c1", "c2"):
            await storage.transcript.add_cycle(cycle(id))
            amended = await storage.transcript.amend_cycle("ana", id, close, tip=True)
            assert amended is not None and amended.cycle.closed
            ends.append(amended.tip)
        assert ends == [None, "c1"]

    async def test_a_cycle_begins_where_the_chat_ends(self, storage: Storage) -> None:
        def after(conversation: Conversation) -> Cycle:
            return cycle("c2", parent=conversation.tip)

        await storage.chats.claim("chat", "ana", START)
        await storage.transcript.add_cycle(cycle())
        await storage.transcript.amend_cycle("ana", "c1", close, tip=True)
        begun = await storage.transcript.begin("ana", "chat", START, after)
        assert begun.cycle is not None and begun.cycle.parent == begun.conversation.tip == "c1"
        again = await storage.transcript.begin("ana", "chat", START, after)
        assert (again.cycle, [left.id for left in again.interrupted]) == (begun.cycle, ["c2"])
        other = await storage.transcript.begin("bia", "chat", START, after)
        assert (other.conversation.user, other.cycle, other.interrupted) == ("ana", None, ())

    async def test_the_way_back_leaves_out_what_is_open_or_elsewhere(self, storage: Storage) -> None:
        for chat in ("chat", "other"):
            await storage.chats.claim(chat, "ana", START)
        for id, chat, parent in (("c0", "other", None), ("c1", "chat", "c0"), ("c3", "chat", "c2")):
            await storage.transcript.add_cycle(close(cycle(id, chat=chat, parent=parent)))
        await storage.transcript.add_cycle(cycle("c2", parent="c1"))

        async def back(user: str, tip: str, limit: int) -> list[str]:
            return [one.id for one in await storage.transcript.path(user, "chat", tip, limit=limit)]

        assert await back("ana", "c3", 9) == ["c3", "c1"]
        assert await back("ana", "c3", 1) == ["c3"]
        assert await back("bia", "c3", 9) == await back("ana", "nothing", 9) == []

    async def test_open_cycles_are_found_by_chat_and_by_age(self, storage: Storage) -> None:
        for chat, id in (("chat", "c1"), ("chat", "c2"), ("other", "c3")):
            await storage.chats.claim(chat, "ana", START)
            await storage.transcript.add_cycle(cycle(id, chat=chat))
        await storage.transcript.amend_cycle("ana", "c2", close)
        assert [one.id for one in await storage.transcript.open_cycles(user="ana", chat="chat")] == ["c1"]
        assert await storage.transcript.open_cycles(user="bia", chat="chat") == []
        late = START + timedelta(seconds=1)
        assert {one.id for one in await storage.transcript.open_cycles(before=late)} == {"c1", "c3"}
        assert await storage.transcript.open_cycles(before=START) == []

    async def test_links_tell_each_cycle_s_parent(self, storage: Storage) -> None:
        for chat in ("chat", "other", "third"):
            await storage.chats.claim(chat, "ana", START)
        await storage.transcript.add_cycle(cycle())
        await storage.transcript.add_cycle(cycle("c2", parent="c1"))
        await storage.transcript.add_cycle(cycle("c3", chat="other"))
        await storage.transcript.add_cycle(cycle("c4", chat="third"))
        assert await storage.transcript.links("ana", ["chat"]) == {"c1": None, "c2": "c1"}
        assert await storage.transcript.links("ana", ["other", "chat", "none"]) == {
            "c1": None,
            "c2": "c1",
            "c3": None,
        }
        assert (
            await storage.transcript.links("ana", []) == await storage.transcript.links("bia", ["chat"]) == {}
        )

    @pytest.mark.spec("BY-2")
    async def test_the_feed_of_cycles_tells_of_closed_ones(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        await storage.transcript.add_cycle(cycle())
        assert (await storage.transcript.cycle_feed("ana", 0, model=None)).number == 0
        await storage.transcript.amend_cycle("ana", "c1", close, tip=True)
        start = await storage.transcript.cycle_feed("ana", 0, model=None)
        assert ([one.id for one in start.cycles], start.tips) == (["c1"], {"chat": "c1"})
        await storage.transcript.add_cycle(cycle("c2", parent="c1"))
        assert (await storage.transcript.cycle_feed("ana", start.number, model=None)).cycles == ()
        await storage.transcript.amend_cycle("ana", "c2", close, tip=True)
        await storage.transcript.amend_cycle("ana", "c1", close)
        later = await storage.transcript.cycle_feed("ana", start.number, model=None)
        assert ([one.id for one in later.cycles], later.tips) == (["c2", "c1"], {"chat": "c2"})
        assert later.number > start.number
        assert (await storage.transcript.cycle_feed("ana", later.number, model=None)).number == later.number
        assert (await storage.transcript.cycle_feed("bia", 0, model=None)).cycles == ()
        await storage.transcript.add_cycle(close(cycle("c3", parent="c2")))
        born = await storage.transcript.cycle_feed("ana", later.number, model=None)
        assert [one.id for one in born.cycles] == ["c3"]

    async def test_vectors_of_messages_stay_until_the_cycle_changes(self, storage: Storage) -> None:
        await storage.chats.claim("chat", "ana", START)
        await storage.transcript.add_cycle(close(cycle()))

        def made(of: str, text: str) -> MessageVector:
            return MessageVector(cycle=of, digest=text, model="words", data=b"\0" * 8)

        kept = [made("c1", "a"), made("c1", "b")]
        await storage.transcript.keep_message_vectors("ana", [*kept, made("unknown", "a")])
        await storage.transcript.keep_message_vectors("ana", kept[:1])
        await storage.transcript.keep_message_vectors("bia", [made("c1", "c")])
        other = made("c1", "a").model_copy(update={"model": "former"})
        await storage.transcript.keep_message_vectors("ana", [other])
        for user in ("bia", "ana"):
            assert (await storage.transcript.cycle_feed("ana", 0, model="former")).vectors == (other,)
            await storage.transcript.drop_message_vectors(user, keep="words")
        assert (await storage.transcript.cycle_feed("ana", 0, model="former")).vectors == ()
        feed = await storage.transcript.cycle_feed("ana", 0, model="words")
        assert sorted(feed.vectors, key=lambda one: one.digest) == kept
        assert (await storage.transcript.cycle_feed("ana", 0, model="another")).vectors == ()
        await storage.transcript.amend_cycle("ana", "c1", close)
        assert (await storage.transcript.cycle_feed("ana", 0, model="words")).vectors == ()

    @pytest.mark.spec("BY-9")
    async def test_erasing_empties_former_journal_rows_too(self, storage: Storage) -> None:
        first, other = await storage.memories.commit("ana", [new(record(), "x"), new(record("m2"), "y")])
        (second,) = await storage.memories.commit("ana", [change(first, content="B")])
        await storage.memories.commit("ana", [change(other, content="C")])
        gone = second.model_copy(update={"content": None, "status": "erased", "vector_ids": ()})
        (stub,) = await storage.memories.commit(
            "ana", [Write(gone, "erase", START, before=second, vectors=())]
        )
        rows = await storage.memories.journal("ana", memories=["m1"])
        assert [(row.op, row.before) for row in rows] == [("erase", None), ("update", None), ("save", None)]
        assert (await storage.memories.journal("ana", memories=["m2"]))[0].before == other
        assert await storage.memories.records("ana", ["m1"]) == [stub]
        assert await storage.memories.vectors("ana", ["m1"]) == []
        assert [one.status for one in (await storage.memories.feed("ana", 4, model="words")).entries] == [
            "erased"
        ]

    @pytest.mark.spec("BY-9")
    async def test_a_row_can_be_rewritten_by_its_number(self, storage: Storage) -> None:
        (first,) = await storage.memories.commit("ana", [new(record())])
        await storage.memories.commit("ana", [change(first, content="B")])
        await storage.memories.commit("bia", [new(record("m2", "bia"))])
        await storage.erasure.rewrite_journal(
            "ana", {1: first, 2: first.model_copy(update={"content": "[…]"})}
        )
        await storage.erasure.rewrite_journal("bia", {2: first})
        assert [row.before and row.before.content for row in await storage.memories.journal("ana")] == [
            "[…]",
            None,
        ]

    @pytest.mark.spec("BY-9")
    async def test_a_family_is_a_memory_and_all_its_versions(self, storage: Storage) -> None:
        old = record("v1", status="erased", current="m1")
        await storage.memories.commit("ana", [new(record()), new(old), new(record("m2"))])
        assert {one.id for one in await storage.erasure.family("ana", ["m1"])} == {"m1", "v1"}
        assert await storage.erasure.family("bia", ["m1"]) == []
        assert await storage.erasure.family("ana", []) == []

    @pytest.mark.spec("BY-9")
    async def test_hidden_memories_of_everybody_are_found(self, storage: Storage) -> None:
        await storage.memories.commit("ana", [new(record(status="hidden", reason="user")), new(record("m2"))])
        await storage.memories.commit("bia", [new(record("m3", "bia", status="hidden"))])
        others = [new(record(id, status="hidden", reason=id)) for id in ("abandoned", "undone", "erasing")]
        await storage.memories.commit("ana", others)
        everybody = {("ana", "m1"), ("ana", "erasing"), ("bia", "m3")}
        assert {(one.space, one.id) for one in await storage.erasure.hidden()} == everybody
        assert [one.id for one in await storage.erasure.hidden("ana")] == ["erasing", "m1"]

    @pytest.mark.spec("BY-9")
    @pytest.mark.parametrize("user", ["ana", "a\x01b", '{"$gt": ""}'])
    async def test_tombstones_and_their_key_are_kept_once(self, storage: Storage, user: str) -> None:
        one = Tombstone(memory="m1", user=user, at=START, cycles=("c",), span=(0, 4), values=((1, "ff"),))
        await storage.erasure.bury(user, [one])
        await storage.erasure.bury(
            user, [one.model_copy(update={"cycles": ()}), Tombstone(memory="m2", user=user, at=START)]
        )
        assert [found.memory for found in await storage.erasure.tombstones(user)] == ["m1", "m2"]
        assert (await storage.erasure.tombstones(user))[0] == one
        assert await storage.erasure.tombstones("bia") == []
        keys = await asyncio.gather(*(storage.erasure.secret(user, bytes([n]) * 32) for n in range(4)))
        assert len({*keys, await storage.erasure.secret(user, b"other")}) == 1
        assert await storage.erasure.secret("bia", b"b" * 32) == b"b" * 32
        await storage.erasure.scrub()

    @pytest.mark.spec("BY-5")
    @pytest.mark.parametrize("text", HOSTILE, ids=("sql", "operator", "control", "emoji", "megabyte"))
    async def test_any_text_is_data(self, storage: Storage, text: str) -> None:
        short = text[:200]
        memory = record(short, short, content=text, key=short, bindings=(short,), source=Source(cycle=short))
        (stored,) = await storage.memories.commit(short, [new(memory, short)])
        await storage.chats.claim(short, short, START)
        await storage.transcript.add_cycle(
            cycle(short, short, short).model_copy(update={"message": said(text)})
        )
        assert await storage.memories.records(short, [short]) == [stored]
        assert [one.text for one in await storage.memories.vectors(short, [short])] == [short]
        assert await storage.memories.of_cycles(short, [short]) == [stored]
        assert (await storage.memories.same(short, identities=[], keys=[short])) == [stored]
        assert [row.memory for row in await storage.memories.journal(short, memories=[short])] == [short]
        kept = await storage.transcript.cycle(short, short)
        assert kept is not None
        assert kept.message.text == text
        assert await storage.memories.records("a", ["a", short]) == []

    async def test_a_job_is_put_once_and_changed_by_one_only(self, storage: Storage) -> None:
        job = new_job("sum", "x\0'", user="ana", due=START, cycle="c1")
        assert [await storage.jobs.put(one) for one in (job, job.model_copy(update={"kind": "mul"}))] == [
            True,
            False,
        ]
        mine = job.claimed(START, timedelta(minutes=1))
        assert [await storage.jobs.change(job, mine), await storage.jobs.change(job, mine)] == [True, False]
        assert (
            await storage.jobs.listing(["ana"], ["running"])
            == [mine]
            == [await storage.jobs.get("ana", job.id)]
        )
        assert [await storage.jobs.get("bia", job.id), await storage.jobs.get("ana", "nobody")] == [
            None,
            None,
        ]
        assert not await storage.jobs.change(mine.model_copy(update={"user": "bia"}), None)
        assert await storage.jobs.change(mine, None)
        assert not await storage.jobs.change(mine, None)
        assert await storage.jobs.listing(["ana"], ["waiting", "running", "dead"]) == []

    async def test_free_jobs_are_due_or_left_behind(self, storage: Storage) -> None:
        minute = timedelta(minutes=1)
        late, soon, other = (
            new_job(kind, name, user=user, due=START + minute * due)
            for kind, name, user, due in (
                ("sum", "1", "bia", 1),
                ("sum", "2", "ana", 0),
                ("mul", "3", "ana", 0),
            )
        )
        left = new_job("sum", "4", user="ana", due=START).claimed(START - 2 * minute, minute)
        dead = left.model_copy(update={"id": "dead", "attempts": 99}).failed("boom", START, None)
        for job in (late, soon, other, left, dead):
            assert await storage.jobs.put(job)
        assert await storage.jobs.free(START, ["sum"], limit=9) == [left, soon]
        assert await storage.jobs.free(START + minute, ["sum", "mul"], limit=9) != []
        assert await storage.jobs.free(START + minute, ["sum"], limit=9) == [left, soon, late]
        assert await storage.jobs.free(START + minute, ["sum"], limit=1) == [left]
        assert [job.id for job in await storage.jobs.listing(["bia"], ["waiting", "dead"])] == [late.id]
        assert [job.id for job in await storage.jobs.listing(["ana", "bia"], ["dead"])] == ["dead"]
        assert len(await storage.jobs.listing(["ana", "bia"], ["waiting"], limit=2)) == 2

    async def test_a_refusal_is_known_until_it_expires(self, storage: Storage) -> None:
        hour = timedelta(hours=1)
        await storage.learned.put("tools host model", START, START + hour)
        await storage.learned.put("tools host model", START, START + 2 * hour)
        assert await storage.learned.names(START + hour) == {"tools host model": START + 2 * hour}
        assert await storage.learned.names(START + 2 * hour) == {}
        await storage.learned.put("tools other", START + 2 * hour, START + 3 * hour)
        assert list(await storage.learned.names(START)) == ["tools other"]
