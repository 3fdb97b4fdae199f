"""Checks sheets against what they were made of, and puts them right."""

from collections.abc import Collection, Iterator, Sequence
from typing import get_args

from thoughtcycle.memory.flaw import OF_SHEETS as OF_SHEETS
from thoughtcycle.memory.flaw import Flaw
from thoughtcycle.memory.formed import ConversationMemory, Profile
from thoughtcycle.memory.records import utc_now
from thoughtcycle.memory.sheet_loading import (
    Dumped,
    SheetBroken,
    as_stored,
    dumped,
    recounted,
    without_cycles,
)
from thoughtcycle.memory.sheet_repair import SheetRepair
from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.memory.storage.health import CycleState
from thoughtcycle.memory.storage.sheet_port import Sheet, SheetKind

_PAGE = 200


async def sheet_flaws(
    storage: Storage, user: str, chats: Collection[str], states: Sequence[CycleState]
) -> list[tuple[Sheet, Flaw]]:
    """What is wrong with a user's sheets, given the user's chats and cycles."""
    found: list[tuple[Sheet, Flaw]] = []
    kinds: Sequence[SheetKind] = get_args(SheetKind)
    for kind in kinds:
        offset = 0
        while page := await storage.sheet_page(user, kind, limit=_PAGE, offset=offset):
            found += [(sheet, flaw) for sheet in page for flaw in of_sheet(sheet, chats, states)]
            offset += len(page)
    return found


def of_sheet(sheet: Sheet, chats: Collection[str], states: Sequence[CycleState]) -> Iterator[Flaw]:
    """What is wrong with one.

    It can be read and is its owner's, the chat is there, and so are the cycles that it names, of that chat;
    it tells the revision at which it is stored, and the word counts are those of its texts.
    """
    name = {"sheet": f"{sheet.kind} {sheet.id!r}" if sheet.id else sheet.kind}
    if sheet.kind == "conversation" and sheet.id not in chats:
        yield Flaw("sheet_lost", name)
        return
    try:
        record = as_stored(sheet)
    except SheetBroken as broken:
        yield Flaw("sheet_broken", {**name, "cause": broken.cause})
        return
    if missing := cycles_of(record) - _known(sheet, states):
        yield Flaw("sheet_cycle", {**name, "cycle": min(missing)})
    if record.revision != sheet.revision:
        yield Flaw("sheet_revision", {**name, "told": record.revision, "revision": sheet.revision})
    if isinstance(record, ConversationMemory) and recounted(record) != record:
        yield Flaw("sheet_counts", name)


def _known(sheet: Sheet, states: Sequence[CycleState]) -> set[str]:
    return {one.id for one in states if sheet.kind == "profile" or one.chat == sheet.id}


def cycles_of(record: object) -> set[str]:
    """The cycles that a sheet names."""
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
    wrong: dict[tuple[str, str], tuple[Sheet, set[str]]] = {}
    for sheet, flaw in await sheet_flaws(storage, user, chats, states):
        wrong.setdefault((sheet.kind, sheet.id), (sheet, set()))[1].add(flaw.code)
    for sheet, codes in wrong.values():
        name = (sheet.kind, sheet.id)
        if "sheet_lost" in codes:
            await storage.drop_sheet(user, name, at=utc_now())
        elif "sheet_broken" in codes or ("sheet_cycle" in codes and sheet.kind == "conversation"):
            await SheetRepair(storage, utc_now).rebuild(sheet)
        else:
            document, annex = _mended(sheet, states)
            await storage.put_sheet(
                user, name, document, before=sheet.revision, at=sheet.updated, annex=annex
            )


def _mended(sheet: Sheet, states: Sequence[CycleState]) -> Dumped:
    """A readable sheet put right, as its next revision."""
    record = as_stored(sheet)
    if isinstance(record, Profile):
        record = without_cycles(record, cycles_of(record) - _known(sheet, states))
    elif isinstance(record, ConversationMemory):
        record = recounted(record)
    return dumped(record, sheet.revision + 1)
