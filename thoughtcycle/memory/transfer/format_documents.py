"""Conversation memories, profile and settings as lines of an export, and back (pure)."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from thoughtcycle.memory.model import ConversationMemory, Profile, UserSettings
from thoughtcycle.memory.transfer.format import Line

Record: TypeAlias = ConversationMemory | Profile | UserSettings

_LISTS = {"old_memory", "periods", "ledger", "critical_data", "entries"}
_CYCLE, _CYCLES = ("cycle_id", "cycle", "head"), {"cycle_ids", "cycles", "working_cycles", "unjudged"}


def conversation_line(memory: ConversationMemory) -> Line:
    """The memory of a chat."""
    document = memory.model_dump(mode="json", exclude={"chat_id", "user_id", "revision"})
    return _line("conversation", memory.chat_id, document["updated_at"], document)


def user_line(record: Profile | UserSettings, at: datetime) -> Line:
    """The profile or the settings, as they were at the time of the export."""
    document = record.model_dump(mode="json", exclude={"user", "revision"})
    return _line("profile" if isinstance(record, Profile) else "settings", "", at.isoformat(), document)


def _line(kind: str, id: str, updated: str, document: Line) -> Line:
    return {"line": "sheet", "kind": kind, "id": id, "updated": updated, "document": document}


def to_document(line: Line, user: str) -> tuple[datetime, Record]:
    """Time and content of a document, as `user`'s. Raises ValueError where a field does not fit."""
    at, document = datetime.fromisoformat(line["updated"]), line["document"]
    if at.tzinfo is None or not isinstance(line["id"], str) or not isinstance(document, dict):
        raise ValueError("a document of another form")
    match line["kind"]:
        case "conversation":
            return at, ConversationMemory(user_id=user, chat_id=line["id"], **document, rolled=None)
        case "profile":
            return at, Profile(user=user, **document)
        case "settings":
            return at, UserSettings(user=user, **document)
    raise ValueError(f"a document of an unknown kind {line['kind']!r}")


def renamed_document(line: Line, rename: Callable[[str], str]) -> Line:
    """`line` with the ids of its chat and cycles passed through `rename`."""
    document = _renamed(line["document"], rename)
    for name in document.keys() & _LISTS:
        document[name] = [_renamed(one, rename) for one in document[name]]
    if "moods" in document:
        document["moods"] = [[rename(cycle), mood] for cycle, mood in document["moods"]]
    return {**line, "id": rename(line["id"]) if line["id"] else "", "document": document}


def renamed_judgement(found: Line, rename: Callable[[str], str]) -> Line:
    """A judgement with the ids of cycles and memories passed through `rename`."""
    facts = [
        {**fact, **{name: rename(fact[name]) for name in ("same_as", "replaces") if fact[name]}}
        for fact in found["facts"]
    ]
    return {**found, "facts": facts, "critical": [_renamed(one, rename) for one in found["critical"]]}


def _renamed(fields: Line, rename: Callable[[str], str]) -> Line:
    ids = {name: rename(fields[name]) for name in _CYCLE if isinstance(fields.get(name), str)}
    lists = {name: [rename(id) for id in fields[name]] for name in fields.keys() & _CYCLES}
    return {**fields, **ids, **lists}
