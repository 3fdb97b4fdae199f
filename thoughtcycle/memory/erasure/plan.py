"""The writes of an erasure: what is given up, emptied, redacted, and what marks the place (pure)."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from thoughtcycle.memory.model import ITEM, Cycle, JournalEntry, MemoryRecord, Source, Tombstone, as_text
from thoughtcycle.memory.redaction import ERASING, Mask, source_spans, tombstone
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.text.spans import key
from thoughtcycle.memory.versioning.record_writes import KEY_LENGTH, SearchVectors, search_keys, with_vectors


def is_due(record: MemoryRecord, until: datetime) -> bool:
    """Whether a hidden memory is to be erased: its erasure was begun, or the user deleted it by `until`."""
    return record.reason == ERASING or (record.reason == "user" and record.updated <= until)


def given_up(records: Iterable[MemoryRecord], at: datetime, cycle: str | None) -> list[Write]:
    """Hides what is not erased yet so that nothing brings it back; what was hidden keeps the time of that."""
    writes = []
    for record in {one.id: one for one in records}.values():
        if record.status == "erased" or record.reason == ERASING:
            continue
        gone = record.model_copy(
            update={"status": "hidden", "reason": ERASING, "updated": deleted_at(record, at)}
        )
        writes.append(Write(gone, "hide", at, before=record, cycle=cycle))
    return writes


def deleted_at(record: MemoryRecord, at: datetime) -> datetime:
    """When the user deleted a memory that is given up at `at`."""
    return record.updated if record.status == "hidden" and record.reason in ("user", ERASING) else at


def folded(record: MemoryRecord) -> str:
    """The content of a memory as it is compared: case, accents and punctuation aside."""
    text = as_text(record.content)
    return key(text).strip() or text.strip()


def contents_until(
    family: Iterable[MemoryRecord], journal: Iterable[JournalEntry], at: datetime
) -> dict[str, datetime]:
    """Folded content → when it was deleted, for all that these memories have ever said."""
    until = {one.id: deleted_at(one, at) for one in family if one.status != "erased"}
    said = [(folded(one), until[one.id]) for one in family if one.id in until]
    said += [(folded(row.before), until[row.memory]) for row in journal if row.before and row.memory in until]
    found: dict[str, datetime] = {}
    for text, when in said:
        found[text] = max(when, found.get(text, when))
    return found


def twins(
    family: Iterable[MemoryRecord],
    others: Iterable[MemoryRecord],
    contents: Mapping[str, datetime],
    at: datetime,
) -> list[MemoryRecord]:
    """The `others` that say the same as the family or have its key, and are older than its deletion."""
    keys = {one.key: deleted_at(one, at) for one in family if one.key is not None and one.current is None}
    return [
        one
        for one in others
        if any(
            when is not None and one.created <= when
            for when in (contents.get(folded(one)), keys.get(one.key or ""))
        )
    ]


def stub(record: MemoryRecord) -> MemoryRecord:
    """The erased memory as it stays: ids and times, so that journal, feed and undo fit together."""
    told = Source(cycle=record.source.cycle, speaker=record.source.speaker)
    gone = {"content": None, "type": "text", "kind": None, "key": None, "bindings": (), "tags": ()}
    state = {"status": "erased", "reason": "erased", "vector_ids": (), "source": told}
    return record.model_copy(update={**gone, **state})


def emptied(records: Iterable[MemoryRecord], at: datetime) -> list[Write]:
    """Empties memories, their vectors and what the journal keeps of them."""
    return [
        Write(stub(record), "erase", at, before=record, vectors=())
        for record in records
        if stub(record) != record
    ]


def without_words(record: MemoryRecord, mask: Mask) -> MemoryRecord:
    """`record` without the words of others in its source and search contexts; itself where there are none.

    An item's search contexts are its own value's: what another one said is no reason to lose them.
    """
    if record.type == ITEM:
        return record
    source = record.source.model_copy(update={"words": mask.text(record.source.words)})
    bindings = tuple(text for text in record.bindings if not mask.finds(text))
    changed = record.model_copy(update={"source": source, "bindings": bindings})
    return record if changed == record else changed


def redacted(record: MemoryRecord, after: MemoryRecord, keys: SearchVectors, at: datetime) -> Write:
    """The write that makes `record` what it is `after` redacting."""
    if after.bindings == record.bindings:
        return Write(after, "redact", at, before=record)
    texts = {text[:KEY_LENGTH] for text in search_keys(after)}
    vectors = tuple(vector for vector in keys.stored_for(record) if vector.text in texts)
    return Write(with_vectors(after, vectors), "redact", at, before=record, vectors=vectors)


def stones(user: str, mask: Mask, cycles: Iterable[Cycle], secret: bytes) -> list[Tombstone]:
    """A tombstone per memory of `mask`, with the place of its words in `cycles`."""
    messages = {cycle.id: cycle.message.text for cycle in cycles}
    made = []
    for one in mask.traces:
        told = [messages[id] for id in sorted(one.sources) if id in messages]
        spans = [span for text in told for span in source_spans(text, one)]
        made.append(tombstone(one, user, secret, spans[0] if spans else None))
    return made


def told_in(cycles: Iterable[Cycle], mask: Mask) -> list[str]:
    """Ids of the cycles in which something of `mask` is left."""
    return [cycle.id for cycle in cycles if mask.cycle(cycle) != cycle]


def without(records: Iterable[MemoryRecord], mask: Mask) -> list[tuple[MemoryRecord, MemoryRecord]]:
    """The records that hold words of others, and what is left of each."""
    pairs = ((one, without_words(one, mask)) for one in records)
    return [(one, after) for one, after in pairs if after is not one]
