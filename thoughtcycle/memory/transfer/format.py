"""The lines of an export: records as plain JSON objects and back, as docs/export.md tells (pure)."""

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
"""Fields of a memory that the importing side gives."""


def encoded(line: Line) -> bytes:
    """The line as it stands in the file, UTF-8, with its end."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def header(user: str, at: datetime) -> Line:
    """The first line: what the file is, whose, and when it was made."""
    return {"line": "header", "format": FORMAT, "version": VERSION, "user": user, "at": at.isoformat()}


def link_line(link: ChannelLink) -> Line:
    """Who the user is on a messaging channel. It is told, and taken in by no import."""
    return {"line": "link", **link.model_dump(mode="json", exclude={"user"})}


def chat_line(chat: Conversation) -> Line:
    """A chat."""
    return {"line": "chat", **chat.model_dump(mode="json", exclude={"user"})}


def cycle_line(cycle: Cycle) -> Line:
    """A cycle with its messages in wire form (TC-1)."""
    plain = cycle.model_dump(mode="json", exclude={"user", "message", "progress", "variants"})
    variants = [
        {
            **variant.model_dump(mode="json", exclude={"messages"}),
            "messages": [wired(message) for message in variant.messages],
        }
        for variant in cycle.variants
    ]
    progress = [
        [execution, step, None if text is None else wired(text)] for execution, step, text in cycle.progress
    ]
    said = wired(cycle.message)
    return {"line": "cycle", **plain, "message": said, "progress": progress, "variants": variants}


def memory_line(record: MemoryRecord, mask: Mask, access: Access | None) -> Line:
    """A memory, or a former version of one; of what it was made from, hidden words are blotted out.

    `access`: how often it was found, where it ever was.
    """
    kind = "memory" if record.current is None else "version"
    found = {} if access is None else {_COUNT: access.count, _LAST: access.last.isoformat()}
    return {"line": kind, **_document(record, mask), **found}


def hidden_line(record: MemoryRecord) -> Line:
    """That there is a memory which is out of sight; not what it says."""
    told = record.model_dump(mode="json", include={"kind", "reason", "created", "updated"})
    return {"line": "hidden", "_id": record.id, **told}


def change_line(entry: JournalEntry, mask: Mask, withheld: bool) -> Line:
    """A row of the journal; one about a hidden memory is `withheld` and does not tell what it said."""
    plain = entry.model_dump(mode="json", exclude={"space", "before"})
    before = None
    if entry.before is not None and not withheld:
        before = _document(entry.before, mask)
        before["content"] = blotted(before["content"], mask)
        before["bindings"] = blotted(before["bindings"], mask)
    return {"line": "change", **plain, "before": before, "withheld": withheld}


def end_line(counted: Mapping[str, int]) -> Line:
    """The last line: how many of each kind came before; a file without it is not whole."""
    return {"line": "end", "lines": dict(counted)}


def _document(record: MemoryRecord, mask: Mask) -> Line:
    plain = record.model_dump(mode="json", exclude={*_OWN, "id"})
    return {"_id": record.id, **plain, "source": blotted(plain["source"], mask)}


def wired(message: CycleMessage) -> Line:
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


def blotted(value: Any, mask: Mask) -> Any:
    """`value` with hidden words blotted out of every text in it."""
    if isinstance(value, str):
        return mask.text(value)
    if isinstance(value, dict):
        return {name: blotted(item, mask) for name, item in value.items()}
    return [blotted(item, mask) for item in value] if isinstance(value, (list, tuple)) else value


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
    fields = {name: value for name, value in _fields(line).items() if name not in (_COUNT, _LAST)}
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
    fields = {name: value for name, value in _fields(line).items() if name != "withheld"}
    before = fields.pop("before")
    record = None if before is None else to_memory({"line": "memory", **before}, user)
    return JournalEntry(space=user, before=record, **fields)


def _fields(line: Line) -> Line:
    return {name: value for name, value in line.items() if name not in ("line", OF)}


def _message(wire: Line) -> CycleMessage:
    names = {"chat-history": "chat_history", "content": "text"}
    return CycleMessage(**{names.get(name, name): value for name, value in wire.items() if name != "modal"})


def in_order(links: Mapping[str, str | None]) -> Iterator[str]:
    """The cycles of a chat, each after its parent where that is in the chat too."""
    done: set[str] = set()
    for start in sorted(links):
        way: list[str] = []
        at: str | None = start
        while at is not None and at in links and at not in done:
            done.add(at)
            way.append(at)
            at = links[at]
        yield from reversed(way)
