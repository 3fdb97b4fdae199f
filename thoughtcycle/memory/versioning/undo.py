"""Undo: finds the change to take back, and the writes that do it (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import JournalEntry, MemoryRecord, Op, Vector
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.text.analyzer import identity
from thoughtcycle.memory.versioning.branches import ABANDONED
from thoughtcycle.memory.versioning.record_writes import SearchVectors, drop_former, with_vectors

UNDOABLE = frozenset(
    {"save", "update", "correct", "condense", "merge", "pin", "unpin", "archive", "unarchive", "hide"}
)
"""Operations that an undo takes back. Former versions follow their memory, branches follow the chat, and an
undo is not undone: the next undo takes back one change more. A reinforcement is undone if the user made it;
one by a conversation is not visible to the user, nor is a priority moved by use."""
CHANGED_FIELDS: Mapping[Op, tuple[str, ...]] = {
    "pin": ("pinned",),
    "unpin": ("pinned",),
    "prioritise": ("priority",),
    "archive": ("status", "archived_at"),
    "unarchive": ("status", "archived_at", "expires"),
    "reinforce": ("reinforced_at",),
}
"""Operations that change these fields only; an undo leaves the others as they are now."""


def nothing_to_undo(record: MemoryRecord | None) -> InputRefused:
    """The error of an undo, of this memory if one was named, that found no change."""
    left = record is not None and record.status == "hidden" and record.reason == ABANDONED
    return InputRefused("left_conversation" if left else "nothing_to_undo")


class UndoSearch:
    """Tells the changes that can be taken back, shown the journal newest first."""

    def __init__(self, gone: Iterable[str] = (), *, one: bool = False) -> None:
        """`gone`: memories that cannot come back; erased ones are recognised by the journal.

        `one`: a memory was named, so a moved priority is undone, too.
        """
        self._one = one
        self._undone: set[int] = set()
        self._abandoned: set[str] = set(gone)
        self._back: set[str] = set()

    def fits(self, entry: JournalEntry) -> bool:
        """Whether `entry` can be taken back, given that all newer ones were shown before it."""
        if entry.undoes is not None:
            self._undone.add(entry.undoes)
        if entry.op == "restore":
            self._back.add(entry.memory)
        elif entry.op == "erase" or (entry.op == "abandon" and entry.memory not in self._back):
            self._abandoned.add(entry.memory)
        of_version = entry.before is not None and entry.before.current is not None
        emptied = entry.before is not None and entry.before.status == "erased"
        return (
            (
                entry.op in UNDOABLE
                or (entry.op == "reinforce" and entry.cycle is None)
                or (entry.op == "prioritise" and self._one)
            )
            and not of_version
            and not emptied
            and entry.number not in self._undone
            and entry.memory not in self._abandoned
        )


def undo_writes(
    entry: JournalEntry,
    record: MemoryRecord,
    versions: Sequence[MemoryRecord],
    keys: SearchVectors,
    at: datetime,
) -> list[Write]:
    """Undoes `entry`; `record` is its memory now, `versions` are its former versions."""
    if entry.before is None:
        gone = record.model_copy(update={"status": "hidden", "reason": "undone", "updated": at})
        return [Write(gone, "undo", at, before=record, undoes=entry.number)]
    before = entry.before
    if entry.op in CHANGED_FIELDS:
        fields = {name: getattr(before, name) for name in (*CHANGED_FIELDS[entry.op], "updated")}
        return [Write(record.model_copy(update=fields), "undo", at, before=record, undoes=entry.number)]
    same = (record.status, record.reason) == (before.status, before.reason)
    writes = [] if same else _versions_back(record, versions, at)
    if before.vector_ids == record.vector_ids and same_content(before, record):
        return [*writes, Write(before, "undo", at, before=record, undoes=entry.number)]
    former = next((version for version in versions if is_version(version, before)), None)
    vectors = _vectors_back(before, former, keys)
    writes.append(
        Write(with_vectors(before, vectors), "undo", at, before=record, vectors=vectors, undoes=entry.number)
    )
    if former is not None:
        writes.append(drop_former(former, at))
    return writes


def same_content(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether both have the same content and search keys."""
    return (one.type, one.content, one.bindings) == (other.type, other.content, other.bindings)


def is_version(version: MemoryRecord, before: MemoryRecord) -> bool:
    """Whether `version` is the stored copy of `before`."""
    return (
        version.status == "superseded"
        and version.valid_from == before.valid_from
        and identity(version.type, version.content) == identity(before.type, before.content)
    )


def _versions_back(record: MemoryRecord, versions: Iterable[MemoryRecord], at: datetime) -> list[Write]:
    """The former versions that were hidden together with `record`, superseded again."""
    return [
        Write(
            version.model_copy(update={"status": "superseded", "reason": None}),
            "undo",
            at,
            before=version,
            undoes=version.revision,
        )
        for version in versions
        if version.status == "hidden" and version.reason == record.reason
    ]


def _vectors_back(
    before: MemoryRecord, former: MemoryRecord | None, keys: SearchVectors
) -> tuple[Vector, ...]:
    """The vectors of `before`: those of its former version, else made anew."""
    kept = keys.stored_for(former) if former is not None else ()
    if len(kept) == len(before.vector_ids):
        return tuple(
            vector.model_copy(update={"id": id, "memory": before.id})
            for id, vector in zip(before.vector_ids, kept, strict=True)
        )
    return keys.vectors_for(before)
