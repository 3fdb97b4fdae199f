"""The former content of a memory once a chat that changed it is deleted (pure)."""

from collections.abc import Collection, Iterable
from datetime import datetime

from thoughtcycle.memory.erasure.plan import stub
from thoughtcycle.memory.model import JournalEntry, MemoryRecord, Source, named_id
from thoughtcycle.memory.redaction import ERASING
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.versioning.branches import abandon_writes, with_content_of
from thoughtcycle.memory.versioning.record_writes import SearchVectors


def taught(records: Iterable[MemoryRecord], cycles: Collection[str]) -> list[MemoryRecord]:
    """The `records` that these cycles told and that are neither erased nor about to be."""
    return [
        one
        for one in records
        if one.source.cycle in cycles and one.status != "erased" and one.reason != ERASING
    ]


def rolled_back(
    records: Iterable[MemoryRecord], cycles: Collection[str], keys: SearchVectors, at: datetime
) -> list[Write]:
    """Memories of `records` that these cycles told last say what they said before; what else stays – said
    again in another chat – is no longer quoted.
    """
    known = list(records)
    writes: list[Write] = []
    for record in taught((one for one in known if one.current is None), cycles):
        if _before(record, known, cycles):
            writes += abandon_writes(record, known, lambda one: one.source.cycle in cycles, keys, at)
        elif record.source.words:
            told = Source(cycle=record.source.cycle, speaker=record.source.speaker)
            writes.append(Write(record.model_copy(update={"source": told}), "redact", at, before=record))
    return writes


def without_chat(
    rows: Iterable[JournalEntry], records: Iterable[MemoryRecord], cycles: Collection[str]
) -> dict[int, MemoryRecord]:
    """The new contents of journal rows that the cycles told: the content before them, else nothing."""
    known = list(records)
    kept: dict[int, MemoryRecord] = {}
    for row in rows:
        if row.before is None or not taught([row.before], cycles):
            continue
        earlier = [] if row.before.current is not None else _before(row.before, known, cycles)
        kept[row.number] = _told_by(row.before, earlier[-1]) if earlier else stub(row.before)
    return kept


def _told_by(record: MemoryRecord, version: MemoryRecord) -> MemoryRecord:
    """`record` with what `version` said, under the ids that its vectors get when an undo moves them here."""
    ids = tuple(named_id("moved", record.id, id) for id in version.vector_ids)
    return with_content_of(record, version).model_copy(update={"vector_ids": ids})


def _before(
    record: MemoryRecord, known: Iterable[MemoryRecord], cycles: Collection[str]
) -> list[MemoryRecord]:
    """The former versions that other chats told, the newest last."""
    former = [
        one
        for one in known
        if (one.current, one.status) == (record.id, "superseded")
        and one.valid_from <= record.valid_from
        and one.source.cycle not in cycles
    ]
    return sorted(former, key=lambda one: (one.valid_from, one.revision))
