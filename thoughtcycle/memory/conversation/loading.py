"""Converts stored documents to records and back; checks them and corrects word counts (pure)."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from thoughtcycle.errors import StorageFailed
from thoughtcycle.memory.model import ConversationMemory, Cycle, Frozen, Profile, UserSettings
from thoughtcycle.memory.rules.word_budget import with_word_counts
from thoughtcycle.memory.storage import Entries, StoredDocument

HOT = ("old_memory", "periods", "critical_data")
"""Parts of a conversation's memory that formation reads and writes with each cycle."""
CYCLES = "cycle_ids"
"""The cycles of each period. With the ledger it grows with the chat: read and written only where needed."""
PARTS = (*HOT, "ledger")
_CYCLES = TypeAdapter(tuple[tuple[str, ...], ...])

T = TypeVar("T")


class DocumentBroken(StorageFailed):
    """A stored document cannot be read, as after an edit by hand."""

    def __init__(self, kind: str, id: str, cause: str) -> None:
        super().__init__("sheet_broken", sheet=f"{kind} {id!r}" if id else kind, cause=cause)
        self.cause = cause


def conversation_of(found: StoredDocument | None, user: str, chat: str, now: datetime) -> ConversationMemory:
    """The memory of a chat; an unknown one starts empty (CM-1). Raises DocumentBroken."""
    if found is None or found.document is None:
        revision = found.revision if found is not None else 0
        return ConversationMemory(
            chat_id=chat, user_id=user, revision=revision, created_at=now, updated_at=now
        )
    return recounted(_conversation(found).model_copy(update={"revision": found.revision}))


def profile_of(found: StoredDocument | None, user: str) -> Profile:
    """The profile; an unknown user's is empty. Raises DocumentBroken."""
    if found is None or found.document is None:
        return Profile(user=user, revision=found.revision if found is not None else 0)
    return _profile(found).model_copy(update={"revision": found.revision})


def settings_of(found: Mapping[str, Any] | None, user: str) -> UserSettings:
    """The settings; of a user without any, those of the deployment. Raises DocumentBroken."""
    try:
        return UserSettings(**{**(found or {}), "user": user})
    except ValidationError as error:
        raise DocumentBroken("settings", "", _cause(error)) from error


def salvaged(found: Mapping[str, Any], user: str) -> dict[str, Any]:
    """The readable part of broken settings; an unreadable `paused` counts as paused."""
    kept: dict[str, Any] = {}
    for name in UserSettings.model_fields.keys() & found.keys() - {"revision"}:
        try:
            kept[name] = getattr(UserSettings(user=user, **{name: found[name]}), name)
        except ValidationError:
            kept[name] = True if name == "paused" else None
    return kept


def as_stored(found: StoredDocument) -> ConversationMemory | Profile:
    """The record of a document that is there, with its own counts and revision. Raises DocumentBroken."""
    return _conversation(found) if found.kind == "conversation" else _profile(found)


def _profile(found: StoredDocument) -> Profile:
    profile = _validated(found, Profile.model_validate_json, found.document or "")
    if profile.user != found.user:
        raise DocumentBroken(found.kind, found.id, "user")
    return profile


def _conversation(found: StoredDocument) -> ConversationMemory:
    """The memory of a chat, checked against its owner, its chat and its entries."""
    parts = [part for part in PARTS if found.entries.get(part)]
    rows = "".join(f'"{part}":[{",".join(found.entries[part])}],' for part in parts)
    text = f"{{{rows}{(found.document or '').lstrip()[1:]}"  # a part that the document has itself wins
    memory = _validated(found, ConversationMemory.model_validate_json, text)
    if (memory.user_id, memory.chat_id) != (found.user, found.id):
        raise DocumentBroken(found.kind, found.id, "user_id, chat_id")
    if memory.rolled is None:
        raise DocumentBroken(found.kind, found.id, "rolled")
    if found.partial:
        return memory
    cycles = _validated(found, _CYCLES.validate_json, f"[{','.join(found.entries.get(CYCLES, ()))}]")
    if (len(cycles), sum(map(len, cycles))) != (len(memory.periods), memory.rolled):
        raise DocumentBroken(found.kind, found.id, CYCLES)
    pairs = zip(memory.periods, cycles, strict=True)
    periods = tuple(one.model_copy(update={"cycle_ids": ids}) for one, ids in pairs)
    return memory.model_copy(update={"periods": periods, "rolled": None})


def _validated(found: StoredDocument, read: Callable[[str], T], text: str) -> T:
    """The text read by `read`; raises DocumentBroken."""
    if found.flaw is not None:
        raise DocumentBroken(found.kind, found.id, found.flaw)
    try:
        return read(text)
    except ValidationError as error:
        raise DocumentBroken(found.kind, found.id, _cause(error)) from error


def _cause(error: ValidationError) -> str:
    """Place and type of the first error, without the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['type']}" if place else first["type"]


def dumped(record: ConversationMemory | Profile, revision: int) -> tuple[str, Entries]:
    """The document of a record at `revision`, and the entries of the parts that were read."""
    record = record.model_copy(update={"revision": revision})
    if isinstance(record, Profile):
        return record.model_dump_json(), {}
    periods = [one.model_copy(update={"cycle_ids": one.cycle_ids[:1]}) for one in record.periods]
    parts: dict[str, Sequence[Frozen]] = {part: getattr(record, part) for part in PARTS}
    parts["periods"] = periods
    rows = {part: [one.model_dump_json() for one in entries] for part, entries in parts.items()}
    if record.partial:
        del rows["ledger"]
    else:
        rows[CYCLES] = [json.dumps(one.cycle_ids) for one in record.periods]
    text = record.model_dump_json(exclude={*PARTS})
    return f'{text[:-1]},"rolled":{record.rolled_cycles}}}', rows


def recounted(memory: ConversationMemory, recent: Iterable[Cycle] | None = None) -> ConversationMemory:
    """`memory` with the word counts of its texts (CM-8); `recent` are the cycles of its recent memory.

    Without `recent` the total stays, unless the other counts exceed it.
    """
    right = with_word_counts(memory, recent or ())
    if recent is None and right.total_word_count < memory.total_word_count:
        return right.model_copy(update={"total_word_count": memory.total_word_count})
    return right


def without_cycles(profile: Profile, cycles: Collection[str]) -> Profile:
    """`profile` without these cycles, and without entries that come from them alone."""
    gone = frozenset(cycles)
    entries = [
        one.model_copy(update={"cycles": tuple(id for id in one.cycles if id not in gone)})
        for one in profile.entries
        if not one.cycles or not gone.issuperset(one.cycles)
    ]
    moods = tuple((cycle, mood) for cycle, mood in profile.moods if cycle not in gone)
    return profile.model_copy(update={"entries": tuple(entries), "moods": moods})
