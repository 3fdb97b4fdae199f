"""Records as stored documents and back: the names of the specification, the same on every backend."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pydantic_core import PydanticSerializationError, from_json

from thoughtcycle.memory.model import MemoryRecord, Status, searched_texts
from thoughtcycle.memory.storage.base.memories import Block, Entry, StoredItem
from thoughtcycle.memory.storage.packing import packed, stored, unpacked
from thoughtcycle.memory.text import identity


def to_document(record: MemoryRecord, *, aside: bool | None = None) -> dict[str, Any]:
    """The memory document (TC-15): `_id`, `memoriesId`, `vectorIds`, else snake_case; plain JSON.

    The content of what is put `aside` is compressed where that is smaller (LM-12), of archived memories
    unless that is False; what it is searched by stands beside it as ever. `content_of` reads it.
    """
    return _kept(record, aside).model_dump(mode="json", by_alias=True)


def _kept(record: MemoryRecord, aside: bool | None) -> MemoryRecord:
    """`record` with its content in the form in which it is kept."""
    pack = packed if aside or (aside is None and record.status == "archived") else stored
    content = pack(record.content)
    return record if content is record.content else record.model_copy(update={"content": content})


def content_of(document: Mapping[str, Any]) -> Any:
    """What the memory of this document says."""
    return unpacked(document["content"])


def from_document(document: dict[str, Any]) -> MemoryRecord:
    """The record of a document."""
    return MemoryRecord.model_validate({**document, "content": content_of(document)})


def dumps(record: MemoryRecord | None, *, aside: bool | None = None) -> str | None:
    """A document as JSON text; every character survives, NUL included."""
    if record is None:
        return None
    try:
        return _kept(record, aside).model_dump_json(by_alias=True)
    except PydanticSerializationError:  # not Unicode; encoding the text will say so
        return json.dumps(to_document(record, aside=aside), ensure_ascii=False)


def parsed(text: str) -> dict[str, Any]:
    """A document's JSON text as it is."""
    try:
        found: dict[str, Any] = from_json(text, cache_strings="keys")  # twice as fast as json.loads
    except ValueError:  # nested deeper than it goes
        found = json.loads(text)
    return found


def loads(text: str) -> MemoryRecord:
    """The record of a document's JSON text."""
    try:
        record = MemoryRecord.model_validate_json(text)  # half the time of doing it in two steps
    except ValueError:  # nested deeper than it goes, or no such document: this says which
        return from_document(json.loads(text))
    content = unpacked(record.content)
    return record if content is record.content else record.model_copy(update={"content": content})


def identity_of(record: MemoryRecord) -> str:
    """By what the same content is recognised."""
    return identity(record.type, record.content)


ENTRY_FIELDS = (
    *("_id", "revision", "status", "reason", "type", "kind", "layer", "tags", "valid_from", "valid_to"),
    *("content", "bindings", "vectorIds"),
)
"""Of a stored document, those that an index reads."""
ITEM_FIELDS = ("_id", "key", "content", "created", "updated", "reinforced_at")
"""Of a stored document, those that an item is read from."""
NOT_DELETED = ("abandoned", "undone")
"""Reasons for which a memory is hidden that its user did not delete."""
SEARCHED: tuple[Status, ...] = ("active", "archived")
"""Statuses of what an index holds."""


def entry_of(document: Mapping[str, Any]) -> Entry:
    """What an index needs to know of a memory, taken from its document as it is: no record is made."""
    searched = document["status"] != "hidden"
    content = document["content"]
    if not isinstance(content, str):
        content = unpacked(content)
    return Entry(
        document["_id"],
        document["revision"],
        document["status"],
        document["reason"],
        document["kind"],
        document["layer"],
        tuple(document["tags"]),
        datetime.fromisoformat(document["valid_from"]),
        searched_texts(document["type"], content, document["bindings"]) if searched else (),
    )


def item_of(document: Mapping[str, Any]) -> StoredItem:
    """The item of a document, taken from it as it is."""
    times = (document["updated"], document["reinforced_at"])
    return StoredItem(
        document["_id"],
        document["key"],
        content_of(document),
        datetime.fromisoformat(document["created"]),
        max(datetime.fromisoformat(time) for time in times if time is not None),
    )


def entries_of(documents: Iterable[Mapping[str, Any]]) -> tuple[list[Entry], dict[str, tuple[str, int]]]:
    """Entries, and the vectors that can be searched: id → memory and place among its vectors."""
    entries: list[Entry] = []
    places: dict[str, tuple[str, int]] = {}
    for document in documents:
        entries.append(entry_of(document))
        if document["status"] in (*SEARCHED, "superseded"):
            memory = document["_id"]
            for place, vector in enumerate(document["vectorIds"]):
                places[vector] = (memory, place)
    return entries, places


def was_valid(document: Mapping[str, Any], at: datetime) -> bool:
    """Whether what the stored memory says was believed at that time."""
    until = document["valid_to"]
    return datetime.fromisoformat(document["valid_from"]) <= at and (
        until is None or at < datetime.fromisoformat(until)
    )


def blocks_of(places: Mapping[str, tuple[str, int]], vectors: Iterable[tuple[str, bytes]]) -> list[Block]:
    """Those of `vectors` (id and data) that are in `places`, as blocks."""
    owners: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    data: defaultdict[int, bytearray] = defaultdict(bytearray)
    for id, vector in vectors:
        if (owner := places.get(id)) is not None:
            owners[len(vector)].append(owner)
            data[len(vector)] += vector
    return [Block(size // 4, owners[size], data[size]) for size in owners]
