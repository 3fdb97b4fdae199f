"""Finds the checkpoints of a thread that are no longer needed: rules from rows to the rows to delete.

A turn begins with the checkpoint of its input. The last turns of the live branch stay, so that they can be
regenerated and edited, and so do the last turns of the whole thread, for the branch that was live a moment
ago. Not for graphs with a DeltaChannel, whose values reach back without a limit.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from langgraph.constants import START

KEEP_TURNS = 5
MAX_KEEP_TURNS = 1000


class Row(NamedTuple):
    """A stored checkpoint without its contents."""

    namespace: str
    """Empty for the graph itself; `node:<task>` or, with a memory of its own, `node` for a subgraph."""
    id: str
    """A time-ordered UUID (version 6): a later checkpoint of a thread sorts after an earlier one."""
    parent: str | None
    source: str | None
    """`input`, `loop`, `update` or `fork`."""
    step: int | None


Key = tuple[str, str]
"""(namespace, id) of a checkpoint within its thread."""


_keeping = ContextVar("keeping", default=False)


@contextmanager
def keeping_states() -> Iterator[None]:
    """Has deletions of runs in this context leave the states that the runs made."""
    token = _keeping.set(True)
    try:
        yield
    finally:
        _keeping.reset(token)


def are_states_kept() -> bool:
    """Whether this is within `keeping_states`."""
    return _keeping.get()


def checked_keep_turns(keep_turns: int) -> int:
    """`keep_turns` itself; ValueError outside 1..1000."""
    if not 1 <= keep_turns <= MAX_KEEP_TURNS:
        raise ValueError(f"keep_turns must be 1..{MAX_KEEP_TURNS}, not {keep_turns!r}")
    return keep_turns


def may_begin_turn(namespace: str, metadata: Mapping[str, Any], new_versions: Mapping[str, Any]) -> bool:
    """Whether storing this checkpoint may make older ones unneeded.

    With durability `exit` a turn leaves a single checkpoint, of source `loop`; that it holds a new
    input shows in the changed start channel.
    """
    if namespace:
        return False
    source = metadata.get("source")
    return source == "input" or (source == "loop" and START in new_versions)


def expired(rows: Iterable[Row], head: str, keep_turns: int) -> list[Key]:
    """The checkpoints of one thread that nothing within the last `keep_turns` turns needs.

    `head` is the id of the live branch's newest checkpoint. The checkpoint before the oldest kept turn
    stays too: editing that turn's message starts from it. A subgraph's checkpoint lives as long as the
    graph's own checkpoint before it; the newest of a subgraph with a memory of its own always lives.
    """
    rows = list(rows)
    root = {row.id: row for row in rows if not row.namespace}
    turns = sorted(row.id for row in root.values() if _begins_turn(row, root))
    if len(turns) <= keep_turns:
        return []
    recent = turns[-keep_turns]
    kept = {id for id in root if id >= recent} | _live_path(root, head, keep_turns)
    order = sorted(root)
    lasting = _newest(row for row in rows if row.namespace and ":" not in row.namespace)
    return [
        (row.namespace, row.id)
        for row in rows
        if _before(order, row) not in kept and (row.namespace, row.id) not in lasting
    ]


def superseded(rows: Iterable[Row]) -> list[Key]:
    """All checkpoints of one thread but the newest of each namespace."""
    rows = list(rows)
    newest = _newest(rows)
    return [(row.namespace, row.id) for row in rows if (row.namespace, row.id) not in newest]


def _begins_turn(row: Row, root: Mapping[str, Row]) -> bool:
    """Whether it is an input or, where a turn stored its last checkpoint only, skips steps of its parent."""
    if row.source == "input":
        return True
    parent = root.get(row.parent or "")
    if row.source != "loop" or row.step is None or parent is None or parent.step is None:
        return False
    return row.step > parent.step + 1


def _live_path(root: Mapping[str, Row], head: str, keep_turns: int) -> set[str]:
    """From `head` back through `keep_turns` turns to the checkpoint before them."""
    path: set[str] = set()
    turns, at = 0, root.get(head)
    while at is not None and at.id not in path:
        path.add(at.id)
        if turns == keep_turns:
            break
        turns += _begins_turn(at, root)
        at = root.get(at.parent or "")
    return path


def _before(order: Sequence[str], row: Row) -> str | None:
    """The graph's own checkpoint that `row` is, or that it came after; None when it is older than all."""
    if not row.namespace:
        return row.id
    place = bisect_left(order, row.id)
    return order[place - 1] if place else None


def _newest(rows: Iterable[Row]) -> set[Key]:
    newest: dict[str, str] = {}
    for row in rows:
        newest[row.namespace] = max(row.id, newest.get(row.namespace, ""))
    return set(newest.items())
