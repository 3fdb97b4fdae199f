"""Decay of memories: strength, reasons to archive, priority by use, and candidates for a merge (pure)."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import combinations
from math import log
from typing import Literal

from thoughtcycle.memory.model import PRIORITIES, Access, MemoryRecord
from thoughtcycle.memory.text.analyzer import terms

ArchiveReason = Literal["expired", "faded", "unused"]

FADING = 0.1
"""Strength that an emotional memory loses per week without reinforcement (HM-7)."""
FORGOTTEN_STRENGTH = 0.3
"""Strength below which an emotional memory is archived (HM-7)."""
UNUSED = timedelta(days=180)
"""A long-term memory that was not said, found or changed for so long is archived (LM-1)."""
CRITICAL = 71
"""Importance; a memory with so much is not archived for lack of use (SM-4)."""
RAISED, LOWERED = 2.0, 2.0
"""Most that use adds to the priority of the layer, and that time takes away."""
STEP = 0.5
"""Smallest change of a priority, so that not every day is a change."""
BLOCK = 24
"""Most memories that share a rare word; those with a more common one are not compared."""
RAREST = 3
"""Rarest words of a memory, by which its duplicates are looked for."""


def strength(record: MemoryRecord, now: datetime) -> float:
    """Base weight with decay, in [0, 1] (HM-7): `bio` stays 1.0, `emo` fades 0.1 a week unless pinned."""
    if record.kind == "bio":
        return 1.0
    if record.kind != "emo" or record.pinned:
        return record.weight
    return max(0.0, record.weight - FADING * max(0.0, time_since_said(record, now) / timedelta(weeks=1)))


def time_since_said(record: MemoryRecord, now: datetime) -> timedelta:
    """Time since the memory was last said or reinforced."""
    return now - max(record.valid_from, record.reinforced_at or record.valid_from)


def last_use(record: MemoryRecord, access: Access | None) -> datetime:
    """When the memory was last said, changed or found."""
    times = (record.valid_from, record.updated, record.reinforced_at, access.last if access else None)
    return max(time for time in times if time is not None)


def archive_reason(record: MemoryRecord, access: Access | None, now: datetime) -> ArchiveReason | None:
    """Why an active memory is due for the archive; None: it is not.

    A pinned memory never is. Only `emo` fades; biography, preferences, landmark events and critical memories
    are not archived for lack of use.
    """
    if record.pinned:
        return None
    if record.expires is not None and record.expires <= now:
        return "expired"
    if record.kind == "emo":
        return "faded" if round(strength(record, now), 6) < FORGOTTEN_STRENGTH else None
    lasting = record.kind in ("bio", "pref") or record.layer != "long" or (record.importance or 0) >= CRITICAL
    return "unused" if not lasting and now - last_use(record, access) > UNUSED else None


def priority_by_use(record: MemoryRecord, access: Access | None, now: datetime) -> float | None:
    """The priority by use and time (LM-11), in 1…10; None: unchanged.

    That of the layer, plus ln(1 + times found) up to 2, minus the half-years without use up to 2.
    Idempotent: it follows from stored values only.
    """
    if record.pinned:
        return None
    found = log(1 + access.count) if access else 0.0
    idle = max(timedelta(0), now - last_use(record, access)) / UNUSED
    wanted = PRIORITIES[record.layer] + min(RAISED, found) - min(LOWERED, idle)
    wanted = round(min(10.0, max(1.0, wanted)), 1)
    return wanted if abs(wanted - record.priority) >= STEP else None


class DuplicateFinder:
    """Finds memories that may be duplicates, by their content words, held as numbers."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counts: Counter[int] = Counter()
        self._ids: list[str] = []
        self._words: list[array[int]] = []
        """Of each memory, each once."""

    def add(self, records: Iterable[MemoryRecord]) -> None:
        """Takes memories in; skips those that are no plain text, or longer than a fact."""
        numbers = self._numbers
        for record in records:
            if record.type != "text":
                continue
            words = {numbers.setdefault(term[0], len(numbers)) for term in terms(record.text[:400])}
            if 0 < len(words) <= 30:
                self._counts.update(words)
                self._ids.append(record.id)
                self._words.append(array("L", words))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Memories that share a rare word and at least half the words of the shorter one, each pair once."""
        seen: set[tuple[int, int]] = set()
        for block in self._blocks():
            words = [(place, frozenset(self._words[place])) for place in block]
            for (one, mine), (other, theirs) in combinations(words, 2):
                alike = 2 * len(mine & theirs) >= min(len(mine), len(theirs))
                if alike and (one, other) not in seen:
                    seen.add((one, other))
                    yield self._ids[one], self._ids[other]

    def _blocks(self) -> Iterator[list[int]]:
        """Places of memories of which a word is one of the rarest, in their order; where there are a few."""
        counts, blocks = self._counts, defaultdict[int, list[int]](list)
        for place, words in enumerate(self._words):
            for word in sorted(words, key=lambda word: (counts[word], word))[:RAREST]:
                if counts[word] > 1:
                    blocks[word].append(place)
        return (block for block in blocks.values() if len(block) <= BLOCK)
