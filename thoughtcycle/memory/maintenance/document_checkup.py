"""Checks and repairs conversation memories, profile and settings."""

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
from thoughtcycle.memory.model import ConversationMemory, IntegrityIssue, Profile, utc_now
from thoughtcycle.memory.storage import CycleState, DocumentKind, DocumentName, Storage, StoredDocument

_PAGE = 200

DocumentIssue = tuple[StoredDocument | None, IntegrityIssue]
"""A issue with its document; None: of the settings."""


async def document_issues(
    storage: Storage, user: str, chats: Collection[str], states: Sequence[CycleState]
) -> list[DocumentIssue]:
    """The issues of a user's documents and settings, given the user's chats and cycles."""
    found: list[DocumentIssue] = []
    kinds: Sequence[DocumentKind] = get_args(DocumentKind)
    for kind in kinds:
        offset = 0
        while page := await storage.documents.page(user, kind, limit=_PAGE, offset=offset):
            found += [(one, issue) for one in page for issue in _issues_of(one, chats, states)]
            offset += len(page)
    try:
        settings_of(await storage.documents.settings(user), user)
    except DocumentBroken as broken:
        found.append((None, IntegrityIssue("sheet_broken", {"sheet": "settings", "cause": broken.cause})))
    return found


def _issues_of(
    stored: StoredDocument, chats: Collection[str], states: Sequence[CycleState]
) -> Iterator[IntegrityIssue]:
    """The issues of one document.

    A sound document can be read and names its owner, its chat exists, and so do the cycles that it names, in
    that chat; it names the revision at which it is stored, and its word counts are those of its texts.
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


async def repair_documents(
    storage: Storage, user: str, chats: Collection[str], states: Sequence[CycleState]
) -> None:
    """Repairs the issues that `document_issues` finds."""
    wrong: dict[DocumentName, tuple[StoredDocument, set[str]]] = {}
    for one, issue in await document_issues(storage, user, chats, states):
        if one is None:
            settings = await storage.documents.settings(user) or {}
            await storage.documents.change_settings(user, salvaged(settings, user))
        else:
            wrong.setdefault((one.kind, one.id), (one, set()))[1].add(issue.code)
    for name, (one, codes) in wrong.items():
        if "sheet_lost" in codes:
            await storage.documents.drop(user, name, at=utc_now())
        elif "sheet_broken" in codes or ("sheet_cycle" in codes and one.kind == "conversation"):
            await rebuild(storage, one, utc_now())
        else:
            record = as_stored(one)
            if isinstance(record, Profile):
                record = without_cycles(record, cycles_of(record) - _known(one, states))
            else:
                record = recounted(record)
            text, rows = dumped(record, one.revision + 1)
            before, at = one.revision, one.updated
            await storage.documents.put(user, name, text, before=before, at=at, entries=rows)
