"""Memories: drafts, stored records, their vectors, and the journal of every change."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, get_args

from pydantic import AwareDatetime, ConfigDict, Field

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model.attachment import file_of, line_of
from thoughtcycle.memory.model.base import Frozen, Kind, Layer, Role

Status = Literal["active", "archived", "superseded", "hidden", "erased"]
STATUSES: tuple[Status, ...] = get_args(Status)
Op = Literal[
    "save",
    "supersede",
    "reinforce",
    "update",
    "correct",
    "merge",
    "pin",
    "unpin",
    "prioritise",
    "condense",
    "archive",
    "unarchive",
    "hide",
    "abandon",
    "restore",
    "undo",
    "erase",
    "redact",
    "reembed",
]
"""`supersede` stores (or drops) a former version under an id of its own; the row names that version.
A merge is two rows: of the memory that it ended, then of the one that it kept.
`prioritise` moves the priority by use, `condense` shortens an old memory.
`abandon` and `restore` follow the live branch of a chat; no user undoes them. `erase` empties a memory for
good, with its former rows; `redact` removes the words of an erased memory from another one's source;
`reembed` makes its vectors with another embedding model."""


class Source(Frozen):
    """The origin of a memory: the cycle and the words, verbatim."""

    cycle: str | None = None
    speaker: Role = "user"
    words: str = ""


class MemoryDraft(Frozen):
    """A memory to be saved."""

    content: Any
    type: str = "text"
    kind: Kind | None = None
    key: str | None = Field(default=None, max_length=200)
    """Unique among a user's active memories: a new content under the same key supersedes the old one."""
    bindings: tuple[str, ...] = ()
    """Short texts under which it is found, beside its content."""
    tags: tuple[str, ...] = ()
    layer: Layer | None = None
    """None: by its kind."""
    importance: int | None = Field(default=None, ge=0, le=100)
    """0–100, judged once and immutable; None: never judged."""
    priority: float | None = Field(default=None, ge=1.0, le=10.0)
    """None: that of its layer."""
    weight: float = Field(default=1.0, ge=0.0, le=1.0)
    pinned: bool = False
    expires: AwareDatetime | None = None
    """When it expires and may be archived; None: never."""
    said: AwareDatetime | None = None
    """When it was said, the begin of its validity; None, or in the future: now."""
    source: Source = Source()


class MemoryRecord(Frozen):
    """A memory document (TC-15); stored names are `_id`, `memoriesId`, `vectorIds`."""

    model_config = ConfigDict(ser_json_inf_nan="constants", validate_by_name=True, validate_by_alias=True)

    id: str = Field(validation_alias="_id", serialization_alias="_id")
    space: str = Field(validation_alias="memoriesId", serialization_alias="memoriesId")
    """The memory space: the user's id."""
    revision: int
    """Number of the journal row that made this version: an optimistic lock."""
    type: str
    content: Any
    kind: Kind | None = None
    layer: Layer = "long"
    key: str | None = None
    bindings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    vector_ids: tuple[str, ...] = Field(
        default=(), validation_alias="vectorIds", serialization_alias="vectorIds"
    )
    importance: int | None = None
    """0–100, judged once and immutable; None: never judged."""
    weight: float = 1.0
    priority: float = 5.0
    """1–10: that of its layer at first, then moved by use."""
    pinned: bool = False
    """Neither decays nor is archived until it is unpinned."""
    status: Status = "active"
    source: Source = Source()
    reason: str | None = None
    """Why it is hidden: by the `user`, `abandoned` with its branch of the chat, `undone`, or `erasing`."""
    current: str | None = None
    """On a superseded version: the id that names the current one."""
    merged: bool = False
    """It was merged into `current`; its id is an alias of that memory."""
    valid_from: datetime
    valid_to: datetime | None = None
    expires: datetime | None = None
    archived_at: datetime | None = None
    """When it was archived, also while it is hidden."""
    reinforced_at: datetime | None = None
    created: datetime
    updated: datetime

    @property
    def text(self) -> str:
        """The content as one line of text."""
        return as_text(self.content)

    @property
    def line(self) -> str:
        """The content as people and models read it."""
        return " ".join(readable(self.content).split())


class Vector(Frozen):
    """A search key of a memory: its content or one of its bindings (TC-15: `{"nosqlId": id}`)."""

    id: str
    space: str
    memory: str
    text: str
    model: str
    """Name of the embedding model; rows of another model are not compared with."""
    data: bytes
    """float32, little-endian, unit length."""


class JournalEntry(Frozen):
    """One change of one memory. Indexes follow the journal, `undo` and the history read it."""

    space: str
    number: int
    """Contiguous per space, from 1."""
    at: datetime
    op: Op
    memory: str
    cycle: str | None = None
    before: MemoryRecord | None = None
    """The document before the change; None when it did not exist."""
    undoes: int | None = None


class Access(Frozen):
    """How often a memory was found, and when last (LM-9); stored apart from document and journal."""

    count: int
    last: datetime


ITEM = "store:item"
"""Type of an item of `ThoughtCycleStore`; a model cannot name it (no colon in its types)."""


def searched_texts(type: str, content: Any, bindings: Sequence[str]) -> tuple[str, ...]:
    """The search keys of a memory; an item has only its bindings, which are made of its value."""
    return tuple(bindings) if type == ITEM else (as_text(content), *bindings)


def as_text(content: Any) -> str:
    """Any memory content as one line: text as it is, a file by its name, everything else as compact JSON."""
    if isinstance(content, str):
        return content
    return as_json(content) if file_of(content) is None else line_of(content)


def readable(content: Any) -> str:
    """Any memory content as people read it: of a structure its values with their names, never JSON."""
    if isinstance(content, dict) and file_of(content) is None:
        return "; ".join(f"{name}: {_inner(value)}" for name, value in content.items())
    return ", ".join(map(_inner, content)) if isinstance(content, list) else as_text(content)


def _inner(value: Any) -> str:
    return f"({readable(value)})" if isinstance(value, (dict, list)) and value else readable(value)


def as_json(content: Any) -> str:
    """Any memory content as compact JSON; equal for equal contents only."""
    return json.dumps(content, ensure_ascii=False, sort_keys=True)


def storable(content: Any) -> Any:
    """`content`, checked. Raises InputRefused('text_not_unicode', 'text_null').

    Content that is no text itself may hold U+0000 in a text: it is stored as JSON, which escapes it.
    """
    text = as_text(content)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputRefused("text_not_unicode") from error
    if "\0" in text:
        raise InputRefused("text_null")
    return content


def without_null(value: Any) -> Any:
    """A JSON value without U+0000, for text of models, files and imports, which is not refused for it."""
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, dict):
        return {without_null(name): without_null(item) for name, item in value.items()}
    return [without_null(item) for item in value] if isinstance(value, list) else value


class Saved(Frozen):
    """The result of saving a draft."""

    record: MemoryRecord
    """The memory that now holds the content."""
    outcome: Literal["saved", "known", "superseded", "erased"]
    """`erased`: it was said before an erasure of it, so nothing is saved; `record` is the stub."""
    former: MemoryRecord | None = None
    """The version that it superseded, under its new id."""


class UndoResult(Frozen):
    """The result of an undo."""

    undone: JournalEntry | None
    """The change that was undone; None when there was none."""
    record: MemoryRecord | None
    """The memory after the undo."""
    others: tuple[MemoryRecord, ...] = ()
    """The other memories that the same request had deleted, after the undo."""
