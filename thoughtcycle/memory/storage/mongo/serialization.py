"""Records as MongoDB documents and back.

A memory is stored under the specification's names (TC-15). Content that is neither text nor packed is
kept as `{"json": text}`, so that no key or number of it is bound by the rules of BSON.
"""

import json

from thoughtcycle.memory.model import JournalEntry, MemoryRecord, Vector
from thoughtcycle.memory.storage.mongo.client import Document
from thoughtcycle.memory.storage.serialization import from_document, identity_of, is_packed, to_document

_OURS = ("identity", "activeKey")
"""Fields that only queries use."""
_VECTOR_FIELDS = {
    **{"_id": "id", "memoriesId": "space", "nosqlId": "memory"},
    **{name: name for name in ("text", "model", "data")},
}
"""Field of a stored vector → attribute of its record."""


def plain_document(record: MemoryRecord, *, aside: bool | None = None) -> Document:
    """The memory document (TC-15)."""
    document = to_document(record, aside=aside)
    if not isinstance(document["content"], str) and not is_packed(document["content"]):
        document["content"] = {"json": json.dumps(document["content"], ensure_ascii=False)}
    return document


def memory_document(record: MemoryRecord) -> Document:
    """The memory document with the fields by which it is found; `activeKey` is unique per space."""
    key = record.key if record.status == "active" else None
    return {**plain_document(record), "identity": identity_of(record), "activeKey": key}


def memory_record(document: Document) -> MemoryRecord:
    """The record of a stored memory."""
    return from_document(plain_fields(document))


def plain_fields(document: Document) -> Document:
    """The fields of a stored memory, or some of them, in the form that `storage.serialization` reads."""
    fields = {name: value for name, value in document.items() if name not in _OURS}
    if isinstance(fields.get("content"), dict) and not is_packed(fields["content"]):
        fields["content"] = json.loads(fields["content"]["json"])
    return fields


def vector_document(vector: Vector, revision: int) -> Document:
    """A stored vector; `revision` is the number of the change that wrote it."""
    return {field: getattr(vector, name) for field, name in _VECTOR_FIELDS.items()} | {"revision": revision}


def vector_record(document: Document) -> Vector:
    """The record of a stored vector."""
    return Vector(**{name: document[field] for field, name in _VECTOR_FIELDS.items()})


def journal_document(entry: JournalEntry) -> Document:
    """A stored journal row."""
    row: Document = entry.model_dump(mode="json", exclude={"before"})
    aside = entry.op == "archive" or None
    row["before"] = plain_document(entry.before, aside=aside) if entry.before is not None else None
    return row


def journal_record(document: Document) -> JournalEntry:
    """The record of a stored journal row."""
    row = {name: value for name, value in document.items() if name not in ("_id", "before")}
    before = document["before"]
    return JournalEntry(**row, before=None if before is None else memory_record(before))
