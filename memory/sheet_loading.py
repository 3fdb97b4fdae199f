"""Stored sheets as records and back: what is wrong in one is told, wrong word counts are put right (pure)."""

import json
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from thoughtcycle.memory.annex import joined, parted
from thoughtcycle.memory.formed import (
    Annex,
    C,
    ConversationDigest,
    ConversationMemory,
    Profile,
    UserSettings,
)
from thoughtcycle.memory.kinds import Frozen
from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.storage.sheet_port import Sheet
from thoughtcycle.memory.volume import counted
from thoughtcycle.prompts.errors import StorageFailed

R = TypeVar("R", ConversationMemory, ConversationDigest, Profile, UserSettings)


class SheetBroken(StorageFailed):
    """A stored sheet is not what it should be, as after an edit by hand."""

    def __init__(self, kind: str, id: str, cause: str) -> None:
        super().__init__("sheet_broken", sheet=f"{kind} {id!r}" if id else kind, cause=cause)
        self.cause = cause


def conversation_of(sheet: Sheet | None, user: str, chat: str, now: datetime) -> ConversationMemory:
    """The memory of a chat; an unknown one starts empty (CM-1). Raises SheetBroken."""
    if sheet is None or sheet.document is None:
        revision = sheet.revision if sheet is not None else 0
        return ConversationMemory(
            chat_id=chat, user_id=user, revision=revision, created_at=now, updated_at=now
        )
    return recounted(_as_of(sheet, _conversation(sheet)))


def digest_of(sheet: Sheet) -> ConversationDigest | None:
    """The memory of a chat without its annex; None where it is stored as a whole, dropped, or broken."""
    try:
        return recounted(_as_of(sheet, _validated(ConversationDigest, sheet)))
    except SheetBroken:
        return None


def profile_of(sheet: Sheet | None, user: str) -> Profile:
    """The profile; an unknown user's is empty. Raises SheetBroken."""
    if sheet is None or sheet.document is None:
        return Profile(user=user, revision=sheet.revision if sheet is not None else 0)
    return _as_of(sheet, _validated(Profile, sheet))


def settings_of(sheet: Sheet | None, user: str) -> UserSettings:
    """The settings; who has set nothing has the deployment's. Raises SheetBroken."""
    if sheet is None or sheet.document is None:
        return UserSettings(user=user, revision=sheet.revision if sheet is not None else 0)
    return _as_of(sheet, _validated(UserSettings, sheet))


def cautious(user: str, revision: int) -> UserSettings:
    """In place of settings that cannot be read: nothing is learned until that is put right."""
    return UserSettings(user=user, revision=revision, paused=True)


def salvaged(sheet: Sheet) -> UserSettings:
    """What can be read of broken settings; collection counts as paused where that cannot be."""
    try:
        given = json.loads(sheet.document or "")
    except ValueError:
        given = {}
    kept: dict[str, Any] = {"user": sheet.user, "revision": sheet.revision, "paused": True}
    fields = given if isinstance(given, dict) else {}
    for name in UserSettings.model_fields.keys() - {"user", "revision"}:
        try:
            kept |= {name: getattr(UserSettings(user=sheet.user, **{name: fields[name]}), name)}
        except (KeyError, ValidationError):
            continue
    return UserSettings(**kept)


def as_stored(sheet: Sheet) -> ConversationMemory | Profile | UserSettings:
    """The record of a sheet that is there, with whatever counts and revision it tells. Raises SheetBroken."""
    match sheet.kind:
        case "conversation":
            return _conversation(sheet)
        case "profile":
            return _validated(Profile, sheet)
        case "settings":
            return _validated(UserSettings, sheet)


def _as_of(sheet: Sheet, record: R) -> R:
    return record.model_copy(update={"revision": sheet.revision})


def _conversation(sheet: Sheet) -> ConversationMemory:
    """Both parts as one; without an annex the document is the whole, as it was before there were any."""
    if sheet.annex is None:
        return _validated(ConversationMemory, sheet)
    digest = _validated(ConversationDigest, sheet)
    try:
        annex = Annex.model_validate_json(sheet.annex)
    except ValidationError as error:
        raise SheetBroken(sheet.kind, sheet.id, f"annex.{_cause(error)}") from error
    whole = joined(digest, annex)
    if whole is None:
        raise SheetBroken(sheet.kind, sheet.id, "annex.rolled")
    return whole


def _validated(kind: type[R], sheet: Sheet) -> R:
    """The record, if it is the owner's and of what it is kept for."""
    if sheet.flaw is not None:
        raise SheetBroken(sheet.kind, sheet.id, sheet.flaw)
    try:
        found = kind.model_validate_json(sheet.document or "")
    except ValidationError as error:
        raise SheetBroken(sheet.kind, sheet.id, _cause(error)) from error
    if isinstance(found, ConversationMemory | ConversationDigest):
        if (found.user_id, found.chat_id) != (sheet.user, sheet.id):
            raise SheetBroken(sheet.kind, sheet.id, "user_id, chat_id")
    elif found.user != sheet.user:
        raise SheetBroken(sheet.kind, sheet.id, "user")
    return found


def _cause(error: ValidationError) -> str:
    """The first thing that is wrong and where, without what stands there."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['type']}" if place else first["type"]


class Dumped(NamedTuple):
    """What `SheetStorage.put_sheet` is given of a sheet."""

    document: str
    annex: str | None
    """None: it stays as it is."""


def dumped(sheet: Frozen, revision: int) -> Dumped:
    """A sheet as its revision `revision`."""
    annex: str | None = None
    if isinstance(sheet, ConversationMemory):
        sheet, grown = parted(sheet)
        annex = grown.model_dump_json() if grown != Annex() else ""
    return Dumped(sheet.model_copy(update={"revision": revision}).model_dump_json(), annex)


def recounted(memory: C, recent: Iterable[Cycle] | None = None) -> C:
    """`memory` with the word counts of its texts (CM-8); `recent` are the cycles of its recent memory.

    Without these the total stays, if it can be right.
    """
    right = counted(memory, recent or ())
    if recent is None and right.total_word_count < memory.total_word_count:
        return right.model_copy(update={"total_word_count": memory.total_word_count})
    return right


def without_cycles(profile: Profile, cycles: Collection[str]) -> Profile:
    """`profile` as if these cycles had not been: entries that rest on nothing else are gone."""
    gone = frozenset(cycles)
    entries = [
        one.model_copy(update={"cycles": tuple(id for id in one.cycles if id not in gone)})
        for one in profile.entries
        if not one.cycles or not gone.issuperset(one.cycles)
    ]
    moods = tuple((cycle, mood) for cycle, mood in profile.moods if cycle not in gone)
    return profile.model_copy(update={"entries": tuple(entries), "moods": moods})
