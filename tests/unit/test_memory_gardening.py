"""What time makes of memories: rules of priority and archive, sketches, and the engine's part of it."""

from datetime import timedelta
from typing import Any

import pytest

from support.engines import memory
from support.memories import START, record
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import Access, MemoryDraft, MemoryRecord
from thoughtcycle.memory.rules.decay import DuplicateFinder, archive_reason, priority_by_use
from thoughtcycle.nodes.garden.merge import disjoint

__all__ = ["memory"]

YEAR = timedelta(days=365)


def kept(**fields: Any) -> MemoryRecord:
    return record(**{"valid_from": START, "created": START, "updated": START, **fields})


@pytest.mark.spec("HM-7")
@pytest.mark.parametrize(
    ("fields", "weeks", "why"),
    [
        ({"kind": "emo", "weight": 0.9}, 6, None),
        ({"kind": "emo", "weight": 0.9}, 7, "faded"),
        ({"kind": "emo", "weight": 0.9, "reinforced_at": START + timedelta(weeks=5)}, 7, None),
        ({"kind": "emo", "weight": 0.9, "pinned": True}, 70, None),
        ({"kind": "bio"}, 500, None),
        ({"kind": "pref", "layer": "semantic"}, 500, None),
        ({"kind": None, "layer": "episodic"}, 500, None),
        ({"kind": "obj"}, 20, None),
        ({"kind": "obj"}, 30, "unused"),
        ({"kind": "obj", "importance": 71}, 500, None),
        ({"kind": None, "expires": START + YEAR}, 53, "expired"),
        ({"kind": "bio", "expires": START + YEAR}, 53, "expired"),
        ({"kind": "bio", "expires": START + YEAR, "pinned": True}, 53, None),
    ],
)
def test_only_feelings_fade_and_only_the_unused_goes_into_the_archive(
    fields: dict[str, Any], weeks: int, why: str | None
) -> None:
    assert archive_reason(kept(**fields), None, START + timedelta(weeks=weeks)) == why


@pytest.mark.spec("LM-1")
def test_what_is_found_now_and_then_is_not_unused() -> None:
    access = Access(count=3, last=START + YEAR)
    assert archive_reason(kept(kind="obj"), access, START + YEAR + timedelta(days=30)) is None


@pytest.mark.spec("LM-11")
@pytest.mark.parametrize(
    ("fields", "access", "days", "wanted"),
    [
        ({}, None, 0, None),
        ({}, Access(count=1, last=START), 0, 5.7),
        ({}, Access(count=100, last=START), 0, 7.0),
        ({}, None, 180, 4.0),
        ({}, None, 3_000, 3.0),
        ({"priority": 5.7}, Access(count=1, last=START), 0, None),
        ({"layer": "episodic", "priority": 8.0}, Access(count=9, last=START), 0, 10.0),
        ({"pinned": True}, Access(count=100, last=START), 0, None),
    ],
)
def test_use_raises_a_priority_and_time_lowers_it(
    fields: dict[str, Any], access: Access | None, days: int, wanted: float | None
) -> None:
    assert priority_by_use(kept(**fields), access, START + timedelta(days=days)) == wanted


@pytest.mark.spec("LM-11")
def test_sketches_pair_what_shares_rare_words_only() -> None:
    texts = ["odeia coentro na comida", "não gosta de coentro", "mora em Recife", "trabalha em Recife"]
    texts += [f"gosta de filme {number}" for number in range(40)]
    found = DuplicateFinder()
    found.add(kept(id=str(place), content=text) for place, text in enumerate(texts))
    pairs = {tuple(sorted(map(int, pair))) for pair in found.pairs()}
    assert (0, 1) in pairs and (2, 3) in pairs
    assert len(pairs) < 10, "a word that many share pairs nothing"


async def save(memory: Memory, count: int) -> list[str]:
    drafts = [MemoryDraft(content=f"coisa {number}") for number in range(count)]
    return [saved.record.id for saved in await memory.save("ana", drafts)]


async def test_pages_show_each_active_memory_once_even_if_it_changes_meanwhile(memory: Memory) -> None:
    ids = await save(memory, 7)
    await memory.archive("ana", [ids[3]])
    seen: list[str] = []
    async for page in memory.upkeep.pages("ana", size=2):
        seen += [record.id for record in page]
        await memory.upkeep.prioritise("ana", {record.id: 3.0 for record in page})
    assert sorted(seen) == sorted(id for id in ids if id != ids[3])


@pytest.mark.spec("LM-11")
async def test_a_priority_moves_once_and_can_be_put_back_by_name(memory: Memory) -> None:
    (id,) = await save(memory, 1)
    assert [await memory.upkeep.prioritise("ana", {id: 7.0, "unknown": 1.0}) for _ in range(2)] == [1, 0]
    moved = await memory.get("ana", id)
    assert moved is not None and moved.priority == 7.0
    undone = await memory.undo("ana", id)
    assert undone.record is not None and undone.record.priority == 5.0
    await memory.upkeep.prioritise("ana", {id: 7.0})
    assert (await memory.undo("ana")).undone.op == "save"  # type: ignore[union-attr]


@pytest.mark.spec("LM-11")
async def test_an_old_memory_is_said_in_fewer_words_and_again_in_full(memory: Memory) -> None:
    ((saved,),) = [await memory.save("ana", [MemoryDraft(content="Uma longa história de 5 barcos no mar")])]
    short = await memory.upkeep.condense("ana", saved.record.id, "5 barcos", was=saved.record.text)
    assert (short.id, short.content) == (saved.record.id, "5 barcos")
    assert await memory.upkeep.condense("ana", short.id, "5 barcos", was="outra coisa") == short
    assert [hit.record.content for hit in await memory.search("ana", "barcos")] == ["5 barcos"]
    assert await memory.search("ana", "história") == []
    undone = await memory.undo("ana")
    assert undone.record is not None and undone.record.content == saved.record.content
    assert [hit.record.id for hit in await memory.search("ana", "história")] == [short.id]
    await memory.archive("ana", [short.id])
    with pytest.raises(InputRefused):
        await memory.upkeep.condense("ana", short.id, "nada", was="5 barcos")


@pytest.mark.spec("LM-11")
async def test_pairs_merge_in_one_go_and_each_can_be_taken_disjoint(memory: Memory) -> None:
    ids = await save(memory, 8)
    await memory.hide("ana", [ids[7]])
    pairs = {ids[1]: ids[0], ids[3]: ids[2], ids[5]: ids[4], ids[7]: ids[6]}
    assert await memory.upkeep.merge_all("ana", pairs, lambda keep, other: keep.id != ids[2]) == 2
    assert {record.id for record in await memory.list("ana")} == {ids[place] for place in (0, 2, 3, 4, 6)}
    assert await memory.upkeep.merge_all("ana", pairs, lambda keep, other: True) == 1
    await memory.undo("ana", ids[1])
    await memory.undo("ana", ids[2])
    assert {record.id for record in await memory.list("ana")} == {ids[place] for place in (0, 1, 2, 3, 4, 6)}


async def test_what_changed_since_it_was_seen_is_read_again(memory: Memory) -> None:
    ids = await save(memory, 3)
    seen = await memory.list("ana")
    await memory.pin("ana", [ids[0]])
    await memory.hide("ana", [ids[1]])
    assert await memory.upkeep.prioritise("ana", dict.fromkeys(ids, 7.0), seen=seen) == 2
    assert await memory.upkeep.archive_all("ana", ids, lambda record: not record.pinned, seen=seen) == 1
    now = [
        record and (record.status, record.pinned) for record in [await memory.get("ana", id) for id in ids]
    ]
    assert now == [("active", True), ("hidden", False), ("archived", False)]


def test_pairs_that_share_a_memory_wait_for_each_other() -> None:
    a, b, c, d, e = (kept(id=name) for name in "abcde")
    pairs = [(a, b), (c, a), (c, d), (d, e)]
    first, later = disjoint(pairs)
    assert first == [(a, b)] and later == pairs[1:], "in their order"
    assert disjoint([(a, b), (c, d)]) == ([(a, b), (c, d)], [])
