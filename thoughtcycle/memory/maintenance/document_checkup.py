"""Checks what formation made against what it was made of, and puts it right."""

from collections.abc import Collection, Iterator, Sequence
from typing import get_args

from thoughtcycle.memory.conversation import (
    DocumentBroken,
    as_stored,
    dumped,
    recounted,
    salvaged,
    settings_of,
    without_cycles,
)
from thoughtcycle.memory.erasure import rebuild
from thoughtcycle.memory.model import DOCUMENT_ISSUES as DOCUMENT_ISSUES
from thoughtcycle.memory.model import ConversationMemory, IntegrityIssue, Profile, utc_now
from thoughtcycle.memory.storage import CycleState, DocumentKind, DocumentName, Storage, StoredDocument

_PAGE = 200

Found = tuple[StoredDocument | None, IntegrityIssue]
"""What is wrong with a document; None: with the settings."""


async def sheet_flaws(
    storage: Storage, user: str, chats: Collection[str], states: Sequence[CycleState]
) -> list[Found]:
    """What is wrong with a user's documents and settings, given the user's chats and cycles."""
    found: list[Found] = []
    kinds: Sequence[DocumentKind] = get_args(DocumentKind)
    for kind in kinds:
        offset = 0
        while page := await storage.documents.page(user, kind, limit=_PAGE, offset=offset):
            found += [(one, flaw) for one in page for flaw in of_document(one, chats, states)]
            offset += len(page)
    try:
        settings_of(await storage.documents.settings(user), user)
    except DocumentBroken as broken:
        found.append((None, IntegrityIssue("sheet_broken", {"sheet": "settings", "cause": broken.cause})))
    return found


def of_document(
    stored: StoredDocument, chats: Collection[str], states: Sequence[CycleState]
) -> Iterator[IntegrityIssue]:
    """What is wrong with one.

    It can be read and is its owner's, the chat is there, and so are the cycles that it names, of that chat;
    it tells the revision at which it is stored, and the word counts are those of its texts.
    """
    name = {"sheet": f"{stored.kind} {stored.id!r}" if stored.id else stored.kind}
    if stored.kind == "conversation" and stored.id not in chats:
        yield IntegrityIssue("sheet_lost", name)
        return
    try:
        record = as_stored(stored)
    except DocumentBroken as broken:
        yield IntegrityIssue("sheet_broken", {**name, "cause": broken.cause})
        return
    if missing := cycles_of(record) - _known(stored, states):
        yield IntegrityIssue("sheet_cycle", {**name, "cycle": min(missing)})
    if record.revision != stored.revision:
        yield IntegrityIssue("sheet_revision", {**name, "told": record.revision, "revision": stored.revision})
    if isinstance(record, ConversationMemory) and recounted(record) != record:
        yield IntegrityIssue("sheet_counts", name)


def _known(stored: StoredDocument, states: Sequence[CycleState]) -> set[str]:
    return {one.id for one in states if stored.kind == "profile" or one.chat == stored.id}


def cycles_of(record: object) -> set[str]:
    """The cycles that a record names."""
    if isinstance(record, ConversationMemory):
        named = [one.cycle_id for one in record.old_memory] + [one.cycle_id for one in record.ledger]
        named += [one.cycle for one in record.critical_data]
        named += [*record.working_cycles, *record.unjudged]
        named += [id for one in record.periods for id in one.cycle_ids]
        return {*named, *([] if record.head is None else [record.head])}
    if isinstance(record, Profile):
        cycles = [id for one in record.entries for id in one.cycles]
        return {*cycles, *(id for id, _ in record.moods)}
    return set()


async def mend_sheets(
    storage: Storage, user: str, chats: Collection[str], states: Sequence[CycleState]
) -> None:
    """Puts right what `sheet_flaws` finds."""
    wrong: dict[DocumentName, tuple[StoredDocument, set[str]]] = {}
    for one, flaw in await sheet_flaws(storage, user, chats, states):
        if one is None:
            settings = await storage.documents.settings(user) or {}
            await storage.documents.change_settings(user, salvaged(settings, user))
        else:
            wrong.setdefault((one.kind, one.id), (one, set()))[1].add(flaw.code)
    for name, (one, codes) in wrong.items():
        if "sheet_lost" in codes:
            await storage.documents.drop(user, name, at=utc_now())
        elif "sheet_broken" in codes or ("sheet_cycle" in codes and one.kind == "conversation"):
            await rebuild(storage, one, utc_now())
        else:
            text, rows = dumped(_mended(one, states), one.revision + 1)
            before, at = one.revision, one.updated
            await storage.documents.put(user, name, text, before=before, at=at, entries=rows)


def _mended(stored: StoredDocument, states: Sequence[CycleState]) -> ConversationMemory | Profile:
    """A readable record put right."""
    record = as_stored(stored)
    if isinstance(record, Profile):
        return without_cycles(record, cycles_of(record) - _known(stored, states))
    return recounted(record)
