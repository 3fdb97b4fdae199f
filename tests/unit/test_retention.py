"""Which checkpoints of a thread stay: the last turns of the live branch and of the thread."""

import pytest

from thoughtcycle.checkpoints.retention import Row, checked_keep_turns, expired, may_begin_turn, superseded


def chain(*words: str) -> list[Row]:
    """Rows from `id<parent source@step`, namespace before a slash: `b<a loop@3`, `sub:1/c input@-1`."""
    rows = []
    for word in words:
        place, what = word.split(" ")
        namespace, _, link = place.rpartition("/")
        id, _, parent = link.partition("<")
        source, _, step = what.partition("@")
        rows.append(Row(namespace, id, parent or None, source, int(step) if step else None))
    return rows


def turns(count: int, steps: int = 2) -> list[Row]:
    """A thread of `count` turns: 000, 00a, 00b, 010, … each the child of the one before."""
    rows: list[Row] = []
    for turn in range(count):
        for place in ["0", *"abcdefgh"[:steps]]:
            source = "input" if place == "0" else "loop"
            rows.append(Row("", f"{turn:02}{place}", rows[-1].id if rows else None, source, len(rows) - 1))
    return rows


def left(rows: list[Row], head: str, keep: int) -> set[str]:
    gone = set(expired(rows, head, keep))
    return {f"{row.namespace}/{row.id}".lstrip("/") for row in rows if (row.namespace, row.id) not in gone}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_nothing_goes_while_there_are_no_more_turns_than_are_kept(count: int) -> None:
    assert expired(turns(count), turns(count)[-1].id, 3) == []


def test_the_last_turns_stay_with_the_checkpoint_that_the_oldest_of_them_began_from() -> None:
    rows = turns(5)
    assert left(rows, "04b", 2) == {"02b", "030", "03a", "03b", "040", "04a", "04b"}


def test_one_turn_kept_is_the_running_one_and_where_it_began() -> None:
    assert left([*turns(3), *chain("030<02b input@8")], "030", 1) == {"02b", "030"}


def test_the_live_branch_keeps_its_last_turns_however_old_they_are() -> None:
    """Turn 1 is forked after turn 4; the branch left behind counts for the thread, not for the branch."""
    rows = [*turns(5), *chain("05f<01b fork@6", "05g<05f loop@7", "060<05g input@8")]
    kept = left(rows, "060", 2)
    assert {"00b", "010", "01a", "01b", "05f", "05g", "060"} <= kept  # the branch: turns 1 and 6
    assert {"040", "04a", "04b"} <= kept  # the thread: turns 4 and 6
    assert kept.isdisjoint({"000", "00a", "020", "03b"})


def test_forking_the_same_turn_again_and_again_leaves_a_bounded_thread() -> None:
    rows = turns(2)
    for edit in range(50):
        rows += chain(f"{edit + 10}0<00b input@2", f"{edit + 10}x<{edit + 10}0 loop@3")
        gone = set(expired(rows, f"{edit + 10}x", 3))
        rows = [row for row in rows if (row.namespace, row.id) not in gone]
    assert len(rows) == 9  # turn 0 and three edits of turn 1
    assert {"000", "00a", "00b"} <= {row.id for row in rows}


def test_a_subgraph_lives_as_long_as_the_checkpoint_it_ran_from() -> None:
    rows = [*turns(4), *chain("s:1/0001 input@-1", "s:2/02b1 input@-1", "s:3/03a1 loop@0", "s:4/03b1 loop@0")]
    assert {name for name in left(rows, "03b", 1) if "/" in name} == {"s:2/02b1", "s:3/03a1", "s:4/03b1"}


def test_the_newest_of_a_subgraph_with_its_own_memory_always_lives() -> None:
    rows = [*turns(4), *chain("own/00a1 loop@0", "own/00a2 loop@1")]
    assert {name for name in left(rows, "03b", 1) if "/" in name} == {"own/00a2"}


def test_turns_that_left_only_their_last_checkpoint_count_as_turns() -> None:
    rows = chain("a loop@3", "b<a loop@9", "c<b loop@15", "d<c loop@21", "e<d loop@27")
    assert left(rows, "e", 2) == {"c", "d", "e"}


def test_a_head_that_is_not_there_leaves_the_last_turns_of_the_thread() -> None:
    assert left(turns(3), "unknown", 1) == {"020", "02a", "02b"}


def test_superseded_is_all_but_the_newest_of_each_namespace() -> None:
    rows = chain("a input", "b<a loop", "s:1/c input", "s:1/d loop", "t/a loop")
    assert superseded(rows) == [("", "a"), ("s:1", "c")]


@pytest.mark.parametrize(
    ("namespace", "source", "changed", "begins"),
    [
        ("", "input", {}, True),
        ("", "loop", {"messages": 1}, False),
        ("", "loop", {"__start__": 1}, True),
        ("", "update", {"__start__": 1}, False),
        ("", "fork", {}, False),
        ("sub:1", "input", {"__start__": 1}, False),
    ],
)
def test_what_may_begin_a_turn(namespace: str, source: str, changed: dict[str, int], begins: bool) -> None:
    assert may_begin_turn(namespace, {"source": source}, changed) is begins


@pytest.mark.parametrize("wrong", [0, -1, 1001])
def test_keep_turns_has_a_range(wrong: int) -> None:
    with pytest.raises(ValueError, match=r"1\.\.1000"):
        checked_keep_turns(wrong)
