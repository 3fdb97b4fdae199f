"""Records as stored documents and back: the names of the specification, the same on every backend."""

import json
from collections.abc import Mapping
from typing import Any

from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.memory.storage.packing import packed, stored, unpacked
from thoughtcycle.memory.words import identity

_STORED = {"id": "_id", "space": "memoriesId", "vector_ids": "vectorIds"}
_NAMES = {stored: name for name, stored in _STORED.items()}


def to_document(record: MemoryRecord, *, aside: bool | None = None) -> dict[str, Any]:
    """The memory document (TC-15): `_id`, `memoriesId`, `vectorIds`, else snake_case; plain JSON.

    The content of what is put `aside` is compressed where that is smaller (LM-12), of archived memories
    unless that is False; what it is searched by stands beside it as ever. `content_of` reads it.
    """
    document = {_STORED.get(name, name): value for name, value in record.model_dump(mode="json").items()}
    pack = packed if aside or (aside is None and record.status == "archived") else stored
    return {**document, "content": pack(document["content"])}


def content_of(document: Mapping[str, Any]) -> Any:
    """What the memory of this document says."""
    return unpacked(document["content"])


def from_document(document: dict[str, Any]) -> MemoryRecord:
    """The record of a document."""
    fields = {_NAMES.get(name, name): value for name, value in document.items()}
    return MemoryRecord.model_validate({**fields, "content": content_of(document)})


def dumps(record: MemoryRecord | None, *, aside: bool | None = None) -> str | None:
    """A document as JSON text; every character survives, NUL included."""
    return None if record is None else json.dumps(to_document(record, aside=aside), separators=(",", ":"))


def loads(text: str) -> MemoryRecord:
    """The record of a document's JSON text."""
    return from_document(json.loads(text))


def identity_of(record: MemoryRecord) -> str:
    """By what the same content is recognised."""
    return identity(record.type, record.content)
