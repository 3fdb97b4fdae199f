"""The rules of merging two memories and of taking the merge back, by table."""

from datetime import timedelta

import pytest

from support.memories import START, record, vector
from thoughtcycle.memory.model.records import JournalEntry, MemoryRecord, Source
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.versioning.merge import combined, merge_writes, unmerge_writes, versions_taken_over
from thoughtcycle.memory.versioning.record_writes import SearchVectors

SOON, LATER = START + timedelta(days=1), START + timedelta(days=9)


def with_vectors(memory: MemoryRecord, *texts: str) -> tuple[MemoryRecord, SearchVectors]:
    made = [vector(memory, text) for text in texts]
    listed = memory.model_copy(update={"vector_ids": tuple(one.id for one in made)})
    return listed, SearchVectors("words", stored={one.id: one for one in made})


@pytest.mark.parametrize(
    ("field", "keep", "other", "both"),
    [
        ("key", "a", "b", "a"),
        ("key", None, "b", "b"),
        ("bindings", ("x", "y"), ("y", "z"), ("x", "y", "z")),
        ("tags", ("x",), (), ("x",)),
        ("weight", 0.2, 0.9, 0.9),
        ("priority", 5.0, 8.0, 8.0),
        ("pinned", False, True, True),
        ("expires", SOON, LATER, LATER),
        ("expires", SOON, None, None),
        ("importance", 20, 90, 20),
        ("content", "A", "B", "A"),
        ("valid_from", LATER, SOON, LATER),
    ],
)
def test_the_memory_that_stays_takes_the_stronger_of_both(
    field: str, keep: object, other: object, both: object
) -> None:
    one = combined(record(**{field: keep}), record("m2", **{field: other}), LATER, None)  # type: ignore[arg-type]
    assert getattr(one, field) == both


@pytest.mark.parametrize(("cycle", "reinforced"), [(None, LATER), ("c2", LATER), ("c1", None)])
def test_a_merge_reinforces_but_not_by_the_memory_s_own_cycle(cycle: str | None, reinforced: object) -> None:
    keep = record(source=Source(cycle="c1"))
    assert combined(keep, record("m2"), LATER, cycle).reinforced_at == reinforced


def test_vectors_of_new_search_contexts_come_along_once() -> None:
    keep, own = with_vectors(record(content="A", bindings=("x",)), "A", "x")
    other, more = with_vectors(record("m2", content="B", bindings=("x", "y")), "B", "x", "y")
    keys = SearchVectors("words", stored={**own.stored, **more.stored})
    writes = merge_writes(keep, other, [], keys, LATER, None)
    assert [(write.record.id, write.op) for write in writes] == [("m2", "merge"), ("m1", "merge")]
    assert writes[0].vectors is None and writes[0].record.vector_ids == other.vector_ids
    made = writes[1].vectors or ()
    assert [one.text for one in made] == ["A", "x", "y"]
    assert {one.memory for one in made} == {"m1"}
    assert len({one.id for one in made} - {one.id for one in keys.stored.values()}) == 1


def rows(writes: list[Write]) -> tuple[JournalEntry, JournalEntry]:
    """The rows of the memory kept and of the one ended, as if written from number 10 on."""
    made = [
        JournalEntry(
            space="ana", number=number, at=write.at, op=write.op, memory=write.record.id, before=write.before
        )
        for number, write in enumerate(writes, 10)
    ]
    return made[-1], made[-2]


@pytest.mark.parametrize(
    ("which", "field", "value", "undone"),
    [
        ("m1", "revision", 99, True),
        ("m1", "updated", LATER, True),
        ("m1", "reinforced_at", LATER + timedelta(1), True),
        ("m1", "content", "C", False),
        ("m1", "bindings", ("q",), False),
        ("m1", "status", "hidden", False),
        ("m1", "status", "archived", False),
        ("m1", "pinned", True, False),
        ("m2", "revision", 99, True),
        ("m2", "content", "C", False),
        ("m2", "status", "hidden", False),
        ("m2", "current", "m3", False),
    ],
)
def test_only_an_unchanged_pair_is_parted(which: str, field: str, value: object, undone: bool) -> None:
    writes = merge_writes(record(content="A"), record("m2", content="B"), [], SearchVectors(), LATER, None)
    kept, ended = rows(writes)
    now = {write.record.id: write.record for write in writes}
    now[which] = now[which].model_copy(update={field: value})
    back = unmerge_writes(kept, ended, now["m1"], now["m2"], [], SearchVectors(), LATER)
    assert (back is not None) == undone
    if back is not None:
        assert [(one.record.id, one.undoes, one.record.status) for one in back] == [
            ("m1", kept.number, "active"),
            ("m2", ended.number, "active"),
        ]


def test_of_an_erased_pair_nothing_comes_back() -> None:
    writes = merge_writes(record(content="A"), record("m2", content="B"), [], SearchVectors(), LATER, None)
    kept, ended = rows(writes)
    now = [write.record for write in writes]
    gone = ended.model_copy(update={"before": None})
    assert unmerge_writes(kept, gone, now[1], now[0], [], SearchVectors(), LATER) is None


def test_versions_go_back_to_whose_they_were() -> None:
    old = [record(f"v{n}", status="superseded", current="m2") for n in range(2)]
    own = record("v9", status="superseded", current="m1")
    writes = merge_writes(record(content="A"), record("m2", content="B"), old, SearchVectors(), LATER, None)
    assert [write.record.current for write in writes[:2]] == ["m1", "m1"]
    entries = [
        JournalEntry(
            space="ana", number=n, at=LATER, op=write.op, memory=write.record.id, before=write.before
        )
        for n, write in enumerate(writes[:2], 10)
    ]
    update = JournalEntry(space="ana", number=9, at=LATER, op="supersede", memory="v9")
    taken = versions_taken_over(
        [*entries[::-1], update], [own, *(write.record for write in writes[:2])], "m2"
    )
    assert [version.id for version in taken] == ["v0", "v1"]
