"""The lines of an export: records as plain JSON objects and back, see docs/export.md (pure)."""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from thoughtcycle.memory.files import check_described
from thoughtcycle.memory.model import (
    Access,
    ChannelLink,
    Conversation,
    Cycle,
    CycleMessage,
    FileContent,
    JournalEntry,
    MemoryRecord,
    Variant,
    file_of,
)
from thoughtcycle.memory.redaction import Mask

FORMAT = "thoughtcycle-export"
VERSION = 1

_COUNT, _LAST = "access_count", "last_access"
"""Fields of a memory's line that stand beside its document (LM-2)."""
Line: TypeAlias = dict[str, Any]
"""One object of the file; `line` says which kind it is."""

OF, STORE = "of", "store"
"""Field, and its value, of the lines about what apps keep for the user; other lines have none."""

_OWN = {"space", "vector_ids"}
"""Fields of a memory that the importing side sets."""
_PART = 3_000_000
"""Bytes of a file in one line."""


def encoded(line: Line) -> bytes:
    """The line as it stands in the file, UTF-8, with its end."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def header(user: str, at: datetime) -> Line:
    """The first line: what the file is, whose, and when it was made."""
    return {"line": "header", "format": FORMAT, "version": VERSION, "user": user, "at": at.isoformat()}


def plain_line(kind: str, record: ChannelLink | Conversation) -> Line:
    """A record as it is, without its user; no import reads channel links."""
    return {"line": kind, **record.model_dump(mode="json", exclude={"user"})}


def cycle_line(cycle: Cycle) -> Line:
    """A cycle with its messages in wire form (TC-1)."""
    plain = cycle.model_dump(mode="json", exclude={"user", "message", "progress", "variants"})
    plain["message"] = _wire(cycle.message)
    plain["progress"] = [[execution, step, text and _wire(text)] for execution, step, text in cycle.progress]
    plain["variants"] = [
        {
            **variant.model_dump(mode="json", exclude={"messages"}),
            "messages": [_wire(text) for text in variant.messages],
        }
        for variant in cycle.variants
    ]
    return {"line": "cycle", **plain}


def memory_line(record: MemoryRecord, mask: Mask, access: Access | None) -> Line:
    """A memory, or a former version of one, with hidden words masked in its source.

    `access`: how often it was found, if ever.
    """
    kind = "memory" if record.current is None else "version"
    found = {} if access is None else {_COUNT: access.count, _LAST: access.last.isoformat()}
    return {"line": kind, **_document(record, mask), **found}


def hidden_line(record: MemoryRecord) -> Line:
    """A hidden memory without its content."""
    plain = record.model_dump(mode="json", include={"kind", "reason", "created", "updated"})
    return {"line": "hidden", "_id": record.id, **plain}


def change_line(entry: JournalEntry, mask: Mask, withheld: bool) -> Line:
    """A row of the journal; one about a hidden memory is `withheld`: without the former content."""
    plain = entry.model_dump(mode="json", exclude={"space", "before"})
    before = None
    if entry.before is not None and not withheld:
        before = _document(entry.before, mask)
        before["content"] = _masked(before["content"], mask)
        before["bindings"] = _masked(before["bindings"], mask)
    return {"line": "change", **plain, "before": before, "withheld": withheld}


def _document(record: MemoryRecord, mask: Mask) -> Line:
    plain = record.model_dump(mode="json", exclude={*_OWN, "id"})
    return {"_id": record.id, **plain, "source": _masked(plain["source"], mask)}


def _wire(message: CycleMessage) -> Line:
    """A message in wire form, with the time and the speaker's name."""
    named = {} if message.name is None else {"name": message.name}
    return {
        "id": message.id,
        "chat-history": message.chat_history,
        "modal": "text",
        "role": message.role,
        "content": message.text,
        "at": message.at.isoformat(),
        **named,
    }


def _masked(value: Any, mask: Mask) -> Any:
    """`value` with hidden words masked in every text in it."""
    if isinstance(value, str):
        return mask.text(value)
    if isinstance(value, dict):
        return {name: _masked(item, mask) for name, item in value.items()}
    return [_masked(item, mask) for item in value] if isinstance(value, (list, tuple)) else value


def to_chat(line: Line, user: str) -> Conversation:
    """The chat of a line, as `user`'s. Raises ValueError where a field does not fit."""
    return Conversation(user=user, **_fields(line))


def to_cycle(line: Line, user: str) -> Cycle:
    """The cycle of a line, as `user`'s. Raises ValueError where a field does not fit."""
    fields = _fields(line)
    fields["message"] = _message(fields["message"])
    fields["progress"] = [
        (execution, step, None if text is None else _message(text))
        for execution, step, text in fields["progress"]
    ]
    fields["variants"] = [
        Variant(**{**variant, "messages": [_message(text) for text in variant["messages"]]})
        for variant in fields["variants"]
    ]
    return Cycle(user=user, **fields)


def to_memory(line: Line, user: str) -> MemoryRecord:
    """The memory of a line, in `user`'s space and without vectors. Raises ValueError as `to_chat`."""
    fields = _fields(line, _COUNT, _LAST)
    record = MemoryRecord(id=fields.pop("_id"), space=user, **fields)
    if file_of(record.content) is not None:
        content = FileContent.model_validate(record.content)
        check_described(content.name, content.media_type)
    return record


def to_access(line: Line) -> Access | None:
    """How often the memory of a line was found. Raises ValueError as `to_chat`, KeyError for half of it."""
    if _COUNT not in line and _LAST not in line:
        return None
    access = Access.model_validate({"count": line[_COUNT], "last": line[_LAST]})
    if access.count < 1 or access.last.tzinfo is None:
        raise ValueError("an access without number or time zone")
    return access


def to_change(line: Line, user: str) -> JournalEntry:
    """The journal row of a line. Raises ValueError where a field does not fit."""
    fields = _fields(line, "withheld")
    before = fields.pop("before")
    record = None if before is None else to_memory({"line": "memory", **before}, user)
    return JournalEntry(space=user, before=record, **fields)


def _fields(line: Line, *others: str) -> Line:
    """The fields of the record in a line: all but `others` and those of every line."""
    return {name: value for name, value in line.items() if name not in ("line", OF, *others)}


def _message(wire: Line) -> CycleMessage:
    names = {"chat-history": "chat_history", "content": "text"}
    return CycleMessage(**{names.get(name, name): value for name, value in wire.items() if name != "modal"})


def in_order(links: Mapping[str, str | None]) -> Iterator[str]:
    """The cycles of a chat, each after its parent where that is in the chat too."""
    done: set[str] = set()
    for start in sorted(links):
        path: list[str] = []
        at: str | None = start
        while at is not None and at in links and at not in done:
            done.add(at)
            path.append(at)
            at = links[at]
        yield from reversed(path)


def file_lines(sha256: str, data: bytes) -> Iterator[Line]:
    """A file in as many lines as it takes."""
    for start in range(0, len(data), _PART):
        part = base64.b64encode(data[start : start + _PART]).decode()
        yield {"line": "file", "sha256": sha256, "size": len(data), "start": start, "data": part}


class FileParts:
    """Puts the lines of files together, in the order of the export."""

    def __init__(self) -> None:
        self._sha256, self._size = "", 0
        self._data = bytearray()

    @property
    def begun(self) -> bool:
        """Whether a file is still incomplete."""
        return bool(self._data)

    def add(self, line: Line) -> bytes | None:
        """The file that this line completes; None while parts are missing. Raises ValueError out of order."""
        try:
            part = base64.b64decode(line["data"], validate=True)
        except (binascii.Error, TypeError) as error:
            raise ValueError("a part of a file that is no base64") from error
        if not self._data:
            self._sha256, self._size = line["sha256"], line["size"]
        fits = (line["sha256"], line["size"], line["start"]) == (self._sha256, self._size, len(self._data))
        self._data += part
        if not fits or not part or len(self._data) > self._size:
            raise ValueError("a part of another file")
        if len(self._data) < self._size:
            return None
        data, self._data = bytes(self._data), bytearray()
        if hashlib.sha256(data).hexdigest() != self._sha256:
            raise ValueError("a file that is not the one its hash names")
        return data
