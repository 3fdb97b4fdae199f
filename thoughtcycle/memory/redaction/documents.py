"""Masks the memory of a chat and the profile, and puts back what a masked copy did not change (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from thoughtcycle.memory.model import ConversationMemory, Cycle, LedgerEntry, OldCycle, PreservedData, Profile
from thoughtcycle.memory.redaction.derived import Blot, BlotOf, blotted_conversation, blotted_profile
from thoughtcycle.memory.redaction.redactor import Mask, Near, Ties, ties

T = TypeVar("T")
E = TypeVar("E", OldCycle, LedgerEntry)
S = TypeVar("S", ConversationMemory, Profile)


def masked(sheet: S, mask: Mask, cycles: Mapping[str, Cycle]) -> S:
    """`sheet` as it may be read; `cycles` are those of `suspects`."""
    return _blotted(sheet, _blots(mask, cycles)) if mask else sheet


def suspects(sheet: S, mask: Mask) -> set[str]:
    """The cycles of entries that may speak of a hidden memory: to mask these, what they showed is needed."""
    found: set[str] = set()
    named = _named(mask)
    strict = Near(mask, Ties(frozenset(), frozenset(), mask.memories)).at(None)

    def blot_of(cycles: Sequence[str], at: datetime | None) -> Blot:
        found.update(named.intersection(cycles))
        return _Recording(strict, cycles, found)

    _blotted(sheet, blot_of)
    return found


def _named(mask: Mask) -> frozenset[str]:
    """Cycles that told one of the memories or asked for its deletion."""
    return frozenset(id for one in mask.traces for id in one.sources | one.requests)


class _Recording:
    """Changes nothing, and keeps the cycles of what would be changed."""

    def __init__(self, strict: Blot, cycles: Sequence[str], found: set[str]) -> None:
        self._strict, self._cycles, self._found = strict, cycles, found

    @property
    def memories(self) -> frozenset[str]:
        return self._strict.memories

    def text(self, text: str) -> str:
        if self._strict.text(text) != text:
            self._found.update(self._cycles)
        return text

    def keeps(self, text: str) -> bool:
        if not self._strict.keeps(text):
            self._found.update(self._cycles)
        return True


def _blotted(sheet: S, blot_of: BlotOf) -> S:
    if isinstance(sheet, ConversationMemory):
        return blotted_conversation(sheet, blot_of)
    return blotted_profile(sheet, blot_of)


def _blots(mask: Mask, cycles: Mapping[str, Cycle]) -> BlotOf:
    """Strictest where it is not known what a text was made of, as with a working summary."""
    unknown = Ties(frozenset(), frozenset(), mask.memories)

    def tied(id: str) -> Ties:
        if (cycle := cycles.get(id)) is not None:
            return ties(mask, cycle)
        told = frozenset(one.memory for one in mask.traces if id in one.sources)
        deleted = frozenset(one.memory for one in mask.traces if id in one.requests)
        return Ties(told, deleted, frozenset())

    def blot_of(ids: Sequence[str], at: datetime | None) -> Blot:
        if not ids:
            return Near(mask, unknown).at(at)
        first, *others = map(tied, ids)
        for other in others:
            first |= other
        return Near(mask, first).at(at)

    return blot_of


def unmasked(given: S, stored: S, read: S) -> S:
    """`given` with the entries of `stored` where it has them as they `read`: nothing is lost by an upkeep.

    What formation was given is masked; what it leaves as it is keeps the words that an undo brings back.
    """
    if isinstance(given, Profile):
        assert isinstance(stored, Profile) and isinstance(read, Profile)
        return given.model_copy(
            update={
                "entries": _restored(given.entries, read.entries, stored.entries),
                "moods": _restored(given.moods, read.moods, stored.moods),
            }
        )
    assert isinstance(stored, ConversationMemory) and isinstance(read, ConversationMemory)
    data = {
        (one.cycle_id, mine.preserved_data): one.preserved_data
        for part in ("old_memory", "ledger")
        for one, mine in zip(getattr(stored, part), getattr(read, part), strict=True)
    }
    return given.model_copy(
        update={
            "old_memory": _whole(_restored(given.old_memory, read.old_memory, stored.old_memory), data),
            "periods": _restored(given.periods, read.periods, stored.periods),
            "ledger": _whole(_restored(given.ledger, read.ledger, stored.ledger), data),
            "critical_data": _restored(given.critical_data, read.critical_data, stored.critical_data),
            "working": stored.working if given.working == read.working else given.working,
        }
    )


def _restored(given: Iterable[T], read: Sequence[T], stored: Sequence[T]) -> tuple[T, ...]:
    raw: dict[T, list[T]] = {}
    for mine, one in zip(read, stored, strict=True):
        raw.setdefault(mine, []).append(one)
    return tuple(raw[one].pop(0) if raw.get(one) else one for one in given)


def _whole(entries: Iterable[E], data: Mapping[tuple[str, PreservedData], PreservedData]) -> tuple[E, ...]:
    """`entries` with the preserved data as stored, wherever they moved."""
    return tuple(
        one.model_copy(
            update={"preserved_data": data.get((one.cycle_id, one.preserved_data), one.preserved_data)}
        )
        for one in entries
    )
