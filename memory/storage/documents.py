"""Records as stored documents and back: the names of the specification, the same on every backend."""

import json
from typing import Any

from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.memory.words import identity

_STORED = {"id": "_id", "space": "memoriesId", "vector_ids": "vectorIds"}
_NAMES = {stored: name for name, stored in _STORED.items()}


def to_document(record: MemoryRecord) -> dict[str, Any]:
    """The memory document (TC-15): `_id`, `memoriesId`, `vectorIds`, else snake_case; plain JSON."""
    return {_STORED.get(name, name): value for name, value in record.model_dump(mode="json").items()}


def from_document(document: dict[str, Any]) -> MemoryRecord:
    """The record of a document."""
    return MemoryRecord.model_validate({_NAMES.get(name, name): value for name, value in document.items()})


def dumps(record: MemoryRecord | None) -> str | None:
    """A document as JSON text; every character survives, NUL included."""
    return None if record is None else json.dumps(to_document(record), separators=(",", ":"))


def loads(text: str) -> MemoryRecord:
    """The record of a document's JSON text."""
    return from_document(json.loads(text))


def identity_of(record: MemoryRecord) -> str:
    """By what the same content is recognised."""
    return identity(record.type, record.content)
