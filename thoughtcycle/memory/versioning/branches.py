"""Memories follow the live branch of a chat: writes that hide and restore them (pure)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Literal

from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.versioning.record_writes import (
    SearchVectors,
    copied_vectors,
    drop_former,
    store_former,
    with_vectors,
)

ABANDONED = "abandoned"
"""Reason of memories that are hidden with their branch."""


def path_from_tip(links: Mapping[str, str | None], tip: str | None) -> list[str]:
    """The cycles from `tip` back along their parents, in this order."""
    path: dict[str, None] = {}
    while tip is not None and tip in links and tip not in path:
        path[tip] = None
        tip = links[tip]
    return list(path)


def live_path(links: Mapping[str, str | None], tip: str | None) -> set[str]:
    """The cycles from `tip` back along their parents."""
    return set(path_from_tip(links, tip))


def branch_writes(
    records: Iterable[MemoryRecord],
    versions: Iterable[MemoryRecord],
    *,
    live: Collection[str],
    dead: Collection[str],
    replies: Mapping[str, str],
    keys: SearchVectors,
    at: datetime,
) -> list[Write]:
    """Hides memories that only abandoned cycles support, and restores those of live cycles.

    `records` come from cycles of the chat; `versions` are their former versions and the memories that they
    are versions of. A memory that an abandoned cycle changed returns to the version before. `replies`:
    cycles with a new reply → the text of it; a memory of words that the new reply lacks is abandoned, too.
    """
    known = {record.id: record for record in (*versions, *records)}

    def gone(record: MemoryRecord) -> bool:
        source = record.source
        unsaid = source.speaker == "assistant" and source.words not in replies.get(
            source.cycle or "", source.words
        )
        return source.cycle in dead or unsaid

    writes: list[Write] = []
    for record in [record for record in known.values() if gone(record)]:
        if record.status in ("active", "archived"):
            writes += abandon_writes(record, known.values(), gone, keys, at)
    changed = {write.record.id: write.record for write in writes}
    for record in known.values():
        away = record.status == "hidden" and record.reason == ABANDONED
        if away and record.source.cycle in live and not gone(record):
            writes += _restored(record, known, changed, keys, at)
    return writes


def abandon_writes(
    record: MemoryRecord,
    known: Iterable[MemoryRecord],
    left: Callable[[MemoryRecord], bool],
    keys: SearchVectors,
    at: datetime,
) -> list[Write]:
    """Returns `record` to its newest version that is not `left`; hides it when there is none."""
    former = [
        version
        for version in known
        if (version.current, version.status) == (record.id, "superseded") and not left(version)
    ]
    if not former:
        gone = record.model_copy(update={"status": "hidden", "reason": ABANDONED, "updated": at})
        return [Write(gone, "abandon", at, before=record)]
    newest = max(former, key=lambda version: (version.valid_to or at, version.revision))
    kept = store_former(record, keys, at, status="hidden", reason=ABANDONED)
    return [kept, _replaced(record, newest, "abandon", keys, at), drop_former(newest, at)]


def _restored(
    record: MemoryRecord,
    known: Mapping[str, MemoryRecord],
    changed: Mapping[str, MemoryRecord],
    keys: SearchVectors,
    at: datetime,
) -> list[Write]:
    if record.current is None:
        status = "active" if record.archived_at is None else "archived"
        back = record.model_copy(update={"status": status, "reason": None, "updated": at})
        active = [changed.get(other.id, other) for other in known.values() if other.id != record.id]
        keyed = status == "active" and back.key is not None
        if keyed and any(other.status == "active" and other.key == back.key for other in active):
            return []
        return [Write(back, "restore", at, before=record)]
    current = known.get(record.current)
    if current is None or current.status not in ("active", "archived") or current.id in changed:
        return []
    if current.valid_from > record.valid_from:
        return []  # a newer version was learned elsewhere
    former = store_former(current, keys, at, valid_to=record.valid_from)
    return [former, _replaced(current, record, "restore", keys, at), drop_former(record, at)]


def _replaced(
    record: MemoryRecord,
    version: MemoryRecord,
    op: Literal["abandon", "restore"],
    keys: SearchVectors,
    at: datetime,
) -> Write:
    """The write that gives `record` the content of `version`."""
    current = with_content_of(record, version).model_copy(update={"updated": at})
    vectors = copied_vectors(current, keys.stored_for(version))
    return Write(with_vectors(current, vectors), op, at, before=record, vectors=vectors)


def with_content_of(record: MemoryRecord, version: MemoryRecord) -> MemoryRecord:
    """`record` with the content of `version`."""
    names = {"id", "revision", "status", "reason", "current", "valid_to", "updated", "created"}
    names |= {"merged", "pinned", "archived_at"}
    said = {name: getattr(version, name) for name in type(version).model_fields if name not in names}
    return record.model_copy(update=said)
