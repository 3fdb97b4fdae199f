"""The lines of an export that are sheets, and back (pure)."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from thoughtcycle.memory.model import ConversationMemory, Profile, UserSettings

Line: TypeAlias = dict[str, Any]
Record: TypeAlias = ConversationMemory | Profile | UserSettings

_LISTS = ("old_memory", "periods", "ledger", "critical_data", "entries")
_CYCLE, _CYCLES = ("cycle_id", "cycle", "head"), ("cycle_ids", "cycles", "working_cycles", "unjudged")


def conversation_line(memory: ConversationMemory) -> Line:
    """The memory of a chat."""
    document = memory.model_dump(mode="json", exclude={"chat_id", "user_id", "revision"})
    return {
        "line": "sheet",
        "kind": "conversation",
        "id": memory.chat_id,
        "updated": document["updated_at"],
        "document": document,
    }


def own_line(sheet: Profile | UserSettings, at: datetime) -> Line:
    """The profile or the settings, as they were at the time of the export."""
    document = sheet.model_dump(mode="json", exclude={"user", "revision"})
    kind = "profile" if isinstance(sheet, Profile) else "settings"
    return {"line": "sheet", "kind": kind, "id": "", "updated": at.isoformat(), "document": document}


def to_sheet(line: Line, user: str) -> tuple[datetime, Record]:
    """Time and content of a sheet, as `user`'s. Raises ValueError where a field does not fit."""
    at, document = datetime.fromisoformat(line["updated"]), line["document"]
    if at.tzinfo is None or not isinstance(line["id"], str) or not isinstance(document, dict):
        raise ValueError("a sheet of another form")
    match line["kind"]:
        case "conversation":
            own = {"user_id": user, "chat_id": line["id"]}
            return at, ConversationMemory(**own, **document, rolled=None)
        case "profile":
            return at, Profile(user=user, **document)
        case "settings":
            return at, UserSettings(user=user, **document)
    raise ValueError(f"a sheet of an unknown kind {line['kind']!r}")


def moved_sheet(line: Line, renamed: Callable[[str], str]) -> Line:
    """`line` with `renamed` ids of its chat and cycles."""
    document = _moved(line["document"], renamed)
    for name in _LISTS:
        if name in document:
            document[name] = [_moved(one, renamed) for one in document[name]]
    if "moods" in document:
        document["moods"] = [[renamed(cycle), mood] for cycle, mood in document["moods"]]
    id = renamed(line["id"]) if line["id"] else ""
    return {**line, "id": id, "document": document}


def moved_judgement(found: Line, renamed: Callable[[str], str]) -> Line:
    """A judgement with `renamed` ids of cycles and memories."""
    facts = [
        {**fact, **{name: renamed(fact[name]) for name in ("same_as", "replaces") if fact[name]}}
        for fact in found["facts"]
    ]
    return {**found, "facts": facts, "critical": [_moved(one, renamed) for one in found["critical"]]}


def _moved(fields: Line, renamed: Callable[[str], str]) -> Line:
    changed = dict(fields)
    for name in _CYCLE:
        if isinstance(changed.get(name), str):
            changed[name] = renamed(changed[name])
    for name in _CYCLES:
        if name in changed:
            changed[name] = [renamed(id) for id in changed[name]]
    return changed
