"""Records as MongoDB documents and back.

A memory is stored under the specification's names (TC-15). Content that is neither text nor packed is
kept as `{"json": text}`, so that no key or number of it is bound by the rules of BSON.
"""

import json
from typing import Any

from thoughtcycle.memory.records import JournalEntry, MemoryRecord, Vector
from thoughtcycle.memory.storage.documents import from_document, identity_of, to_document
from thoughtcycle.memory.storage.mongo_client import Document
from thoughtcycle.memory.storage.packing import is_packed

_OURS = ("identity", "activeKey")
"""Fields that only queries use."""


def escaped(value: Any) -> Any:
    """`value` with U+0000 in its texts written as U+2400 and "0".

    U+2400 itself becomes U+2400 and "1". Not every server finds a text that holds U+0000.
    """
    if isinstance(value, str):
        return value.replace("␀", "␀1").replace("\0", "␀0") if "␀" in value or "\0" in value else value
    if isinstance(value, dict):
        return {name: escaped(item) for name, item in value.items()}
    return [escaped(item) for item in value] if isinstance(value, (list, tuple)) else value


def unescaped(value: Any) -> Any:
    """What `escaped` was given."""
    if isinstance(value, str):
        return value.replace("␀0", "\0").replace("␀1", "␀") if "␀" in value else value
    if isinstance(value, dict):
        return {name: unescaped(item) for name, item in value.items()}
    return [unescaped(item) for item in value] if isinstance(value, list) else value


def plain_document(record: MemoryRecord, *, aside: bool | None = None) -> Document:
    """The memory document (TC-15)."""
    document = to_document(record, aside=aside)
    if not isinstance(document["content"], str) and not is_packed(document["content"]):
        document["content"] = {"json": json.dumps(document["content"], ensure_ascii=False)}
    return document


def memory_document(record: MemoryRecord) -> Document:
    """The memory document with the fields by which it is found; `activeKey` is unique per space."""
    key = record.key if record.status == "active" else None
    fields: Document = escaped(plain_document(record))
    return {**fields, "identity": identity_of(record), "activeKey": escaped(key)}


def memory_record(document: Document) -> MemoryRecord:
    """The record of a stored memory."""
    return from_document(plain_fields(document))


def plain_fields(document: Document) -> Document:
    """The fields of a stored memory, or some of them, as `storage.documents` knows them."""
    fields = {name: value for name, value in unescaped(document).items() if name not in _OURS}
    if isinstance(fields.get("content"), dict) and not is_packed(fields["content"]):
        fields["content"] = json.loads(fields["content"]["json"])
    return fields


def vector_document(vector: Vector, revision: int) -> Document:
    """A stored vector; `revision` is the number of the change that wrote it."""
    names = {"_id": vector.id, "memoriesId": vector.space, "nosqlId": vector.memory, "text": vector.text}
    return {**escaped({**names, "model": vector.model}), "data": vector.data, "revision": revision}


def vector_record(document: Document) -> Vector:
    """The record of a stored vector."""
    found = unescaped(document)
    return Vector(
        id=found["_id"],
        space=found["memoriesId"],
        memory=found["nosqlId"],
        text=found["text"],
        model=found["model"],
        data=found["data"],
    )


def journal_document(entry: JournalEntry) -> Document:
    """A stored journal row."""
    row = entry.model_dump(mode="json", exclude={"before"})
    row["before"] = (
        None if entry.before is None else plain_document(entry.before, aside=entry.op == "archive" or None)
    )
    document: Document = escaped(row)
    return document


def journal_record(document: Document) -> JournalEntry:
    """The record of a stored journal row."""
    row = {name: value for name, value in unescaped(document).items() if name not in ("_id", "before")}
    before = document["before"]
    return JournalEntry(**row, before=None if before is None else memory_record(before))
