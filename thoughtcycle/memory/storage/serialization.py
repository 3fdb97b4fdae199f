"""Records as stored documents and back: the names of the specification, the same on every backend."""

import base64
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast

from pydantic_core import PydanticSerializationError, from_json

from thoughtcycle.memory.model import MemoryRecord, Status, searched_texts
from thoughtcycle.memory.storage.base.memories import Block, Entry, StoredItem
from thoughtcycle.memory.text.analyzer import identity

_PACKED = "zlib"
"""The one name in a packed content; the value is base64, so that documents stay plain JSON."""


def to_document(record: MemoryRecord, *, aside: bool | None = None) -> dict[str, Any]:
    """The memory document (TC-15): `_id`, `memoriesId`, `vectorIds`, else snake_case; plain JSON.

    With `aside` the content is compressed where that is smaller (LM-12); None: that of archived memories.
    Bindings stay readable for the index. `content_of` reads the content.
    """
    return _with_stored_content(record, aside).model_dump(mode="json", by_alias=True)


def _with_stored_content(record: MemoryRecord, aside: bool | None) -> MemoryRecord:
    pack = packed if aside or (aside is None and record.status == "archived") else stored
    content = pack(record.content)
    return record if content is record.content else record.model_copy(update={"content": content})


def packed(content: Any) -> Any:
    """`content` compressed, where that is smaller; else as it is."""
    text = json.dumps(content, separators=(",", ":"))
    small = _compressed(text)
    return small if len(small[_PACKED]) + len(_PACKED) + 7 < len(text) else stored(content)


def stored(content: Any) -> Any:
    """`content` as it is, unless it would be taken for a packed one."""
    return _compressed(json.dumps(content, separators=(",", ":"))) if is_packed(content) else content


def _compressed(text: str) -> dict[str, str]:
    return {_PACKED: base64.b64encode(zlib.compress(text.encode(), 9)).decode()}


def is_packed(content: Any) -> bool:
    """Whether a content has the form of a packed one; of a stored content, whether it is packed."""
    return isinstance(content, dict) and content.keys() == {_PACKED}


def unpacked(content: Any) -> Any:
    """The content of which `packed` or `stored` made this."""
    return json.loads(zlib.decompress(base64.b64decode(content[_PACKED]))) if is_packed(content) else content


def content_of(document: Mapping[str, Any]) -> Any:
    """The content of the memory of this document."""
    return unpacked(document["content"])


def from_document(document: dict[str, Any]) -> MemoryRecord:
    """The record of a document."""
    return MemoryRecord.model_validate({**document, "content": content_of(document)})


def dumps(record: MemoryRecord | None, *, aside: bool | None = None) -> str | None:
    """A document as JSON text; every character survives, NUL included."""
    if record is None:
        return None
    try:
        return _with_stored_content(record, aside).model_dump_json(by_alias=True)
    except PydanticSerializationError:  # not Unicode; encoding the text will say so
        return json.dumps(to_document(record, aside=aside), ensure_ascii=False)


def parsed(text: str) -> dict[str, Any]:
    """The document of a JSON text."""
    try:
        return cast("dict[str, Any]", from_json(text, cache_strings="keys"))  # twice as fast as json.loads
    except ValueError:  # nested deeper than it goes
        return cast("dict[str, Any]", json.loads(text))


def loads(text: str) -> MemoryRecord:
    """The record of a document's JSON text."""
    try:
        record = MemoryRecord.model_validate_json(text)  # half the time of doing it in two steps
    except ValueError:  # nested deeper than it goes, or no such document: this says which
        return from_document(json.loads(text))
    content = unpacked(record.content)
    return record if content is record.content else record.model_copy(update={"content": content})


def identity_of(record: MemoryRecord) -> str:
    """The key by which the same content is recognised."""
    return identity(record.type, record.content)


ENTRY_FIELDS = (
    *("_id", "revision", "status", "reason", "type", "kind", "layer", "tags", "valid_from", "valid_to"),
    *("content", "bindings", "vectorIds"),
)
"""The fields of a stored document that an index reads."""
ITEM_FIELDS = ("_id", "key", "content", "created", "updated", "reinforced_at")
"""The fields of a stored document that an item is read from."""
NOT_DELETED = ("abandoned", "undone")
"""Reasons for hiding a memory that its user did not delete."""
SEARCHED: tuple[Status, ...] = ("active", "archived")
"""Statuses of the memories that an index holds."""


def entry_of(document: Mapping[str, Any]) -> Entry:
    """The index entry of a memory, taken from its document without making a record."""
    texts: tuple[str, ...] = ()
    if document["status"] != "hidden":
        content = document["content"]
        whole = content if isinstance(content, str) else unpacked(content)
        texts = searched_texts(document["type"], whole, document["bindings"])
    return Entry(
        document["_id"],
        document["revision"],
        document["status"],
        document["reason"],
        document["kind"],
        document["layer"],
        tuple(document["tags"]),
        datetime.fromisoformat(document["valid_from"]),
        texts,
    )


def item_of(document: Mapping[str, Any]) -> StoredItem:
    """The item of a document, taken from it without making a record."""
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
            for place, vector in enumerate(document["vectorIds"]):
                places[vector] = (document["_id"], place)
    return entries, places


def was_valid(document: Mapping[str, Any], at: datetime) -> bool:
    """Whether the stored memory was believed at that time."""
    since, until = document["valid_from"], document["valid_to"]
    return datetime.fromisoformat(since) <= at and (until is None or at < datetime.fromisoformat(until))


def blocks_of(places: Mapping[str, tuple[str, int]], vectors: Iterable[tuple[str, bytes]]) -> list[Block]:
    """The `vectors` (id and data) that are in `places`, as blocks."""
    owners: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    data: defaultdict[int, bytearray] = defaultdict(bytearray)
    for id, vector in vectors:
        if (owner := places.get(id)) is not None:
            owners[len(vector)].append(owner)
            data[len(vector)] += vector
    return [Block(size // 4, owners[size], data[size]) for size in owners]
