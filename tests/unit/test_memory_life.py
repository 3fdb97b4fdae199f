"""Pinning, reinforcing, archiving, restoring and merging memories, and the way back."""

from datetime import timedelta

import pytest

from support.engines import memory
from support.memories import START, said
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft, MemoryRecord, Source

__all__ = ["memory"]


async def saved(memory: Memory, content: str, cycle: str | None = None, **fields: object) -> MemoryRecord:
    draft = MemoryDraft.model_validate({"content": content, "source": Source(cycle=cycle), **fields})
    return (await memory.save("ana", [draft]))[0].record


async def contents(memory: Memory, query: str) -> list[object]:
    return [hit.record.content for hit in await memory.search("ana", query)]


def but(record: MemoryRecord | None, *others: str) -> dict[str, object]:
    """What a record says, its revision and `others` aside."""
    assert record is not None
    return record.model_dump(exclude={"revision", *others})


@pytest.mark.spec("LM-2")
async def test_a_draft_sets_what_a_caller_may_set(memory: Memory) -> None:
    end = START + timedelta(days=14)
    given = {"layer": "episodic", "importance": 80, "priority": 9.0, "pinned": True, "expires": end}
    record = await saved(memory, "Casou em maio", tags=("event",), weight=0.5, **given)
    kept = await memory.get("ana", record.id)
    assert kept == record
    assert {name: getattr(record, name) for name in given} == given
    assert (record.tags, record.weight) == (("event",), 0.5)


@pytest.mark.spec("LM-2")
async def test_a_new_content_under_a_key_is_judged_anew_and_stays_pinned(memory: Memory) -> None:
    old = await saved(memory, "Recife", "c1", key="city", importance=40, pinned=True, priority=9)
    new = await saved(memory, "Natal", "c2", key="city")
    assert (new.id, new.importance, new.pinned, new.priority) == (old.id, None, True, 9.0)
    (former,) = await memory.versions("ana", old.id)
    assert former.importance == 40
    updated = await memory.update("ana", old.id, content="Olinda", correction=True)
    assert (updated.importance, updated.pinned) == (None, True)


@pytest.mark.spec("BY-1")
async def test_pinning_is_a_change_that_can_be_undone(memory: Memory) -> None:
    record = await saved(memory, "Vegetariano")
    (pinned,) = await memory.pin("ana", [record.id])
    assert pinned.pinned and await memory.pin("ana", [record.id]) == [pinned]
    (unpinned,) = await memory.unpin("ana", [record.id])
    assert not unpinned.pinned
    assert [entry.op for entry in await memory.history("ana", record.id)] == ["save", "pin", "unpin"]
    assert (await memory.undo("ana")).record == await memory.get("ana", record.id)
    assert (await memory.get("ana", record.id) or record).pinned
    assert but((await memory.undo("ana", record.id)).record) == but(record)


async def test_several_are_pinned_all_or_none(memory: Memory) -> None:
    one, other, gone = [
        await saved(memory, text) for text in ("Vegetariano", "Mora em Recife", "Tem um gato")
    ]
    await memory.hide("ana", [gone.id])
    for change in (memory.pin, memory.unpin):
        with pytest.raises(InputRefused, match="not active"):
            await change("ana", [one.id, gone.id])
        with pytest.raises(NotAllowed):
            await change("ana", [one.id, "nobody's"])
    assert await memory.get("ana", one.id) == one
    assert [each.pinned for each in await memory.pin("ana", [one.id, other.id, one.id])] == [True, True]


@pytest.mark.spec("HM-6")
async def test_what_happened_since_survives_the_undo_of_a_mark(memory: Memory) -> None:
    record = await saved(memory, "Vegetariano", "c1")
    await memory.pin("ana", [record.id])
    said_again = await memory.reinforce("ana", record.id, cycle="c2")
    result = await memory.undo("ana")
    assert result.undone is not None and result.undone.op == "pin"
    assert result.record is not None
    assert (result.record.pinned, result.record.reinforced_at) == (False, said_again.reinforced_at)


@pytest.mark.spec("HM-6")
async def test_its_own_cycle_never_reinforces(memory: Memory) -> None:
    record = await saved(memory, "Vegetariano", "c1")
    assert await memory.reinforce("ana", record.id, cycle="c1") == record
    other = await memory.reinforce("ana", record.id, cycle="c2")
    assert other.reinforced_at is not None
    by_hand = await memory.reinforce("ana", record.id)
    assert by_hand.reinforced_at is not None and by_hand.reinforced_at > other.reinforced_at
    result = await memory.undo("ana")
    assert result.record is not None and result.record.reinforced_at == other.reinforced_at
    assert [(await memory.undo("ana")).undone is None for _ in range(2)] == [False, True]


@pytest.mark.spec("LM-12")
async def test_an_archived_memory_comes_back_as_it_was(memory: Memory) -> None:
    long = "Casou em Natal. ção \U0001f980 \x01 ␀ " * 200
    record = await saved(memory, long, bindings=("casamento",), tags=("event",), key="wedding", kind="bio")
    (kept,) = await memory.archive("ana", [record.id, record.id])
    assert (kept.status, kept.content, kept.archived_at) == ("archived", long, kept.updated)
    assert await memory.list("ana", statuses=("archived",)) == [kept]
    assert await memory.list("ana") == []
    assert [hit.record for hit in await memory.search("ana", "casamento")] == [kept]
    assert await memory.archive("ana", [record.id]) == [kept]
    (back,) = await memory.restore("ana", [record.id])
    assert but(back, "updated") == but(record, "updated")
    assert await contents(memory, "casamento") == [long]
    assert await memory.restore("ana", [record.id]) == [back]
    ops = [entry.op for entry in await memory.history("ana", record.id)]
    assert ops == ["save", "archive", "unarchive"]


@pytest.mark.spec("LM-12", "BY-1")
async def test_archiving_and_restoring_are_undone_one_by_one(memory: Memory) -> None:
    record = await saved(memory, "Vegetariano", expires=START + timedelta(seconds=1))
    (kept,) = await memory.archive("ana", [record.id])
    (back,) = await memory.restore("ana", [record.id])
    assert back.expires is None, "what expired would go at once again"
    assert but((await memory.undo("ana")).record) == but(kept)
    assert but((await memory.undo("ana")).record) == but(record)


async def test_a_place_that_was_taken_is_not_taken_twice(memory: Memory) -> None:
    record = await saved(memory, "Mora em Recife", "c1", key="city")
    await memory.archive("ana", [record.id])
    new = await saved(memory, "Mora em Natal", "c2", key="city")
    assert new.id != record.id
    with pytest.raises(InputRefused, match="'city'"):
        await memory.restore("ana", [record.id])
    with pytest.raises(InputRefused, match="'city'"):
        await memory.undo("ana", record.id)
    await memory.archive("ana", [new.id])
    with pytest.raises(InputRefused, match="'city'"):
        await memory.restore("ana", [record.id, new.id])
    await memory.restore("ana", [record.id])


async def test_what_cannot_be_archived_or_restored_is_refused_as_a_whole(memory: Memory) -> None:
    one, pinned, gone = [await saved(memory, text) for text in ("A", "B", "C")]
    await memory.pin("ana", [pinned.id])
    await memory.hide("ana", [gone.id])
    for ids, words in (([one.id, pinned.id], "Unpin"), ([one.id, gone.id], "not active")):
        with pytest.raises(InputRefused, match=words):
            await memory.archive("ana", ids)
    with pytest.raises(InputRefused, match="not archived"):
        await memory.restore("ana", [gone.id])
    with pytest.raises(InputRefused, match="not active"):
        await memory.reinforce("ana", gone.id)
    assert {item.id for item in await memory.list("ana")} == {one.id, pinned.id}


async def two(memory: Memory) -> tuple[MemoryRecord, MemoryRecord]:
    """The broader memory and one that says the same, which has been changed once."""
    keep = await saved(memory, "É vegetariano", "c1", bindings=("dieta",), tags=("food",), weight=0.5)
    await saved(memory, "Não come boi", "c2", key="meat", bindings=("carne", "dieta"), tags=("meat",))
    other = await saved(memory, "Não come carne", "c3", key="meat", bindings=("carne", "dieta"), pinned=True)
    return keep, other


@pytest.mark.spec("HM-6")
async def test_a_merge_keeps_one_memory_that_is_found_as_both(memory: Memory) -> None:
    keep, other = await two(memory)
    one = await memory.merge("ana", keep.id, other.id, cycle="c4")
    assert (one.id, one.content, one.bindings) == (keep.id, "É vegetariano", ("dieta", "carne"))
    assert (one.key, one.weight, one.pinned, one.source) == ("meat", 1.0, True, keep.source)
    assert one.reinforced_at == one.updated
    assert await contents(memory, "carne") == await contents(memory, "dieta") == ["É vegetariano"]
    assert len(one.vector_ids) == (3 if memory.core.embeddings else 0)
    former = await memory.get("ana", other.id)
    assert former is not None
    assert (former.status, former.current, former.merged) == ("superseded", keep.id, True)
    assert (former.content, former.valid_to) == ("Não come carne", one.reinforced_at)
    versions = await memory.versions("ana", keep.id)
    assert [version.content for version in versions] == ["Não come carne", "Não come boi"]
    assert await memory.merge("ana", keep.id, other.id) == one
    assert [entry.op for entry in await memory.history("ana", keep.id)] == ["save", "merge"]


@pytest.mark.spec("HM-6", "BY-1")
@pytest.mark.parametrize("by", ["keep", "other", "anything"])
async def test_undo_of_a_merge_brings_both_back(memory: Memory, by: str) -> None:
    keep, other = await two(memory)
    versions = await memory.versions("ana", other.id)
    await memory.merge("ana", keep.id, other.id)
    result = await memory.undo("ana", {"keep": keep.id, "other": other.id, "anything": None}[by])
    assert result.undone is not None and result.undone.op == "merge"
    assert but(await memory.get("ana", keep.id)) == but(keep)
    assert but(await memory.get("ana", other.id)) == but(other)
    back = await memory.versions("ana", other.id)
    assert [but(version) for version in back] == [but(version) for version in versions]
    assert await memory.versions("ana", keep.id) == []
    assert await contents(memory, "carne") == ["Não come carne"]
    again = await memory.undo("ana")
    assert again.undone is not None and again.undone.op == "update", "one merge is one change"


async def test_the_id_of_a_merged_memory_stands_for_the_other(memory: Memory) -> None:
    keep, other = await two(memory)
    third = await saved(memory, "Vegano", "c5")
    await memory.merge("ana", keep.id, other.id)
    await memory.merge("ana", third.id, keep.id)
    assert [record.id for record in await memory.active("ana", [other.id, keep.id])] == [third.id]
    assert [one.id for one in await memory.pin("ana", [other.id])] == [third.id]
    assert (await memory.update("ana", other.id, content="Vegana", correction=True)).id == third.id
    changed = await memory.search_service.changed("ana", {other.id: other.revision, keep.id: keep.revision})
    assert {id: record and record.id for id, record in changed.items()} == dict.fromkeys(changed, third.id)
    assert changed.keys() == {other.id, keep.id}
    (hidden,) = await memory.hide("ana", [other.id, keep.id])
    assert hidden.id == third.id
    assert await memory.list("ana", statuses=("active", "superseded", "archived")) == []
    await memory.undo("ana")
    assert [record.content for record in await memory.list("ana")] == ["Vegana"]
    assert len(await memory.versions("ana", third.id)) == 3


async def test_a_repeated_run_of_what_was_merged_meanwhile_gives_the_memory_kept(memory: Memory) -> None:
    keep, other = await saved(memory, "É vegetariano", "c1"), await saved(memory, "Não come carne", "c2")
    one = await memory.merge("ana", keep.id, other.id)
    assert await saved(memory, "Não come carne", "c2") == one
    assert len(await memory.list("ana")) == 1


async def test_a_merge_with_a_changed_memory_is_not_undone(memory: Memory) -> None:
    keep, other = await two(memory)
    await memory.merge("ana", keep.id, other.id)
    await memory.update("ana", keep.id, content="É vegano")
    with pytest.raises(InputRefused, match="changed since"):
        await memory.undo("ana", other.id)
    assert (await memory.get("ana", keep.id) or keep).content == "É vegano"
    await memory.undo("ana", keep.id)
    await memory.undo("ana", other.id)
    assert {record.content for record in await memory.list("ana")} == {"É vegetariano", "Não come carne"}


async def test_a_merge_that_was_merged_on_is_undone_last_first(memory: Memory) -> None:
    keep, other = await two(memory)
    third = await saved(memory, "Vegano", "c5")
    await memory.merge("ana", keep.id, other.id)
    await memory.merge("ana", third.id, keep.id)
    with pytest.raises(InputRefused, match="changed since"):
        await memory.undo("ana", other.id)
    for _ in range(2):
        assert ((await memory.undo("ana")).undone or pytest.fail("nothing undone")).op == "merge"
    assert len(await memory.list("ana")) == 3


async def test_a_merge_stays_undoable_when_it_was_reinforced(memory: Memory) -> None:
    keep, other = await two(memory)
    await memory.merge("ana", keep.id, other.id)
    stronger = await memory.reinforce("ana", keep.id, cycle="c9")
    await memory.undo("ana")
    back = await memory.get("ana", keep.id)
    assert but(back, "reinforced_at") == but(keep, "reinforced_at")
    assert back is not None and back.reinforced_at == stronger.reinforced_at


async def test_a_merge_is_not_undone_into_a_place_that_was_taken(memory: Memory) -> None:
    keep, other = await two(memory)
    await memory.merge("ana", keep.id, other.id)
    again = await saved(memory, "Não come carne", "c8")
    with pytest.raises(InputRefused, match="taken its place"):
        await memory.undo("ana", other.id)
    await memory.hide("ana", [again.id])
    await memory.undo("ana", other.id)


async def test_what_is_not_there_is_not_merged(memory: Memory) -> None:
    keep, other = await two(memory)
    (version,) = await memory.versions("ana", other.id)
    for one, two_ in ((keep.id, version.id), (version.id, keep.id)):
        with pytest.raises(InputRefused, match="not active"):
            await memory.merge("ana", one, two_)
    assert await memory.merge("ana", keep.id, keep.id) == keep
    await memory.unpin("ana", [other.id])
    await memory.archive("ana", [other.id])
    await memory.merge("ana", keep.id, other.id)
    await memory.undo("ana")
    assert (await memory.get("ana", other.id) or other).status == "archived"


@pytest.mark.spec("BY-5")
async def test_nobody_touches_another_s_memories(memory: Memory) -> None:
    keep, other = await two(memory)
    (own,) = await memory.save("bia", [MemoryDraft(content="Bia")])
    calls = (
        lambda: memory.pin("bia", [keep.id]),
        lambda: memory.unpin("bia", [other.id]),
        lambda: memory.reinforce("bia", keep.id),
        lambda: memory.archive("bia", [own.record.id, keep.id]),
        lambda: memory.restore("bia", [keep.id]),
        lambda: memory.merge("bia", own.record.id, keep.id),
        lambda: memory.merge("bia", keep.id, own.record.id),
        lambda: memory.pin("", [keep.id]),
    )
    for call in calls:
        with pytest.raises(NotAllowed):
            await call()
    assert await memory.get("ana", keep.id) == keep
    assert await memory.get("ana", other.id) == other
    assert await memory.get("bia", own.record.id) == own.record


async def test_an_archived_memory_of_an_abandoned_branch_is_hidden_and_comes_back_archived(
    memory: Memory,
) -> None:
    first = await memory.transcript.open_cycle("ana", "chat", said("um", "1"), parent=None, channel="cli")
    await memory.transcript.close_cycle("ana", first.id, execution="e", messages=(), steps=())
    record = await saved(memory, "Vegetariano", first.id)
    (kept,) = await memory.archive("ana", [record.id])
    other = await memory.transcript.open_cycle("ana", "chat", said("dois", "1"), parent=None, channel="cli")
    await memory.transcript.close_cycle("ana", other.id, execution="e", messages=(), steps=())
    gone = await memory.get("ana", record.id)
    assert gone is not None and (gone.status, gone.reason) == ("hidden", "abandoned")
    await memory.transcript.close_cycle("ana", first.id, execution="e", messages=(), steps=())
    assert but(await memory.get("ana", record.id), "updated") == but(kept, "updated")


async def test_a_merge_survives_the_branch_of_the_memory_that_was_kept(memory: Memory) -> None:
    cycle = await memory.transcript.open_cycle("ana", "chat", said("um", "1"), parent=None, channel="cli")
    await memory.transcript.close_cycle("ana", cycle.id, execution="e", messages=(), steps=())
    keep, other = await saved(memory, "É vegetariano", cycle.id), await saved(memory, "Não come carne", "c9")
    await memory.merge("ana", keep.id, other.id)
    beside = await memory.transcript.open_cycle("ana", "chat", said("dois", "1"), parent=None, channel="cli")
    await memory.transcript.close_cycle("ana", beside.id, execution="e", messages=(), steps=())
    (left,) = await memory.list("ana")
    assert (left.id, left.content, left.merged) == (keep.id, "Não come carne", False)
    assert await memory.pin("ana", [keep.id]) != [left]
