"""Merges two memories that say the same, and undoes it (pure: records in, writes out)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from thoughtcycle.memory.model import JournalEntry, MemoryRecord
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.versioning.record_writes import (
    KEY_LENGTH,
    SearchVectors,
    copied_vectors,
    search_keys,
    with_vectors,
)

_MOVING = {"revision", "updated", "reinforced_at", "vector_ids"}
"""Fields that may change after a merge without hindering its undo."""


def merge_writes(
    keep: MemoryRecord,
    other: MemoryRecord,
    versions: Iterable[MemoryRecord],
    keys: SearchVectors,
    at: datetime,
    cycle: str | None,
) -> list[Write]:
    """Merges `other`, whose former versions are `versions`, into `keep` (HM-6).

    `other` and its versions become former versions of `keep`, so that one step leads from each to its
    successor; `keep` is found under the search contexts of both. The row of `keep` follows that of `other`.
    """
    both = combined(keep, other, at, cycle)
    new = {text[:KEY_LENGTH] for text in search_keys(both)}
    own = keys.stored_for(keep)
    new -= {vector.text for vector in own}
    vectors = (
        *own,
        *copied_vectors(keep, [vector for vector in keys.stored_for(other) if vector.text in new]),
    )
    return [
        *(_of(version, keep.id, at) for version in versions),
        Write(absorbed(other, keep.id, at), "merge", at, before=other, cycle=cycle),
        Write(with_vectors(both, vectors), "merge", at, before=keep, vectors=vectors, cycle=cycle),
    ]


def combined(keep: MemoryRecord, other: MemoryRecord, at: datetime, cycle: str | None) -> MemoryRecord:
    """`keep` after the merge: the stronger value of each field; reinforced, unless by its own cycle."""
    own = cycle is not None and cycle == keep.source.cycle
    ends = (keep.expires, other.expires)
    fields: dict[str, Any] = {
        "key": keep.key if keep.key is not None else other.key,
        "bindings": tuple(dict.fromkeys((*keep.bindings, *other.bindings))),
        "tags": tuple(dict.fromkeys((*keep.tags, *other.tags))),
        "weight": max(keep.weight, other.weight),
        "priority": max(keep.priority, other.priority),
        "pinned": keep.pinned or other.pinned,
        "expires": max((end for end in ends if end is not None), default=None) if all(ends) else None,
        "reinforced_at": keep.reinforced_at if own else at,
        "updated": at,
    }
    return keep.model_copy(update=fields)


def absorbed(other: MemoryRecord, keep: str, at: datetime) -> MemoryRecord:
    """`other` after the merge: a former version of `keep` under its own id."""
    return other.model_copy(update={"status": "superseded", "valid_to": at, "current": keep, "merged": True})


def unchanged(record: MemoryRecord, made: MemoryRecord) -> bool:
    """Whether `record` is as the merge `made` it, reinforcement and vectors aside."""
    return record.model_dump(exclude=_MOVING) == made.model_dump(exclude=_MOVING)


def unmerge_writes(
    kept: JournalEntry,
    ended: JournalEntry,
    keep: MemoryRecord,
    other: MemoryRecord,
    versions: Iterable[MemoryRecord],
    keys: SearchVectors,
    at: datetime,
) -> list[Write] | None:
    """Undoes a merge; None when one of the two has changed since.

    `kept` and `ended` are the merge's journal rows of the memories `keep` and `other`; `versions` are those
    taken over from `other`. A reinforcement since then stays with `keep`.
    """
    if kept.before is None or ended.before is None:
        return None
    if not unchanged(keep, combined(kept.before, ended.before, kept.at, kept.cycle)):
        return None
    if not unchanged(other, absorbed(ended.before, keep.id, ended.at)):
        return None
    texts = {text[:KEY_LENGTH] for text in search_keys(kept.before)}
    vectors = tuple(vector for vector in keys.stored_for(keep) if vector.text in texts)
    since = keep.reinforced_at if keep.reinforced_at not in (kept.at, kept.before.reinforced_at) else None
    one = kept.before.model_copy(update={"reinforced_at": since or kept.before.reinforced_at})
    two = ended.before.model_copy(update={"vector_ids": other.vector_ids})
    return [
        Write(with_vectors(one, vectors), "undo", at, before=keep, vectors=vectors, undoes=kept.number),
        Write(two, "undo", at, before=other, undoes=ended.number),
        *(_of(version, other.id, at) for version in versions),
    ]


def versions_taken_over(
    rows: Sequence[JournalEntry], versions: Iterable[MemoryRecord], other: str
) -> list[MemoryRecord]:
    """The `versions` that a merge took over from `other`; `rows` are those before it, newest first."""
    taken = set()
    for row in rows:
        if row.op != "supersede" or row.before is None or row.before.current != other:
            break
        taken.add(row.memory)
    return [version for version in versions if version.id in taken]


def _of(version: MemoryRecord, current: str, at: datetime) -> Write:
    """`version` as a former version of another memory."""
    return Write(version.model_copy(update={"current": current}), "supersede", at, before=version)
