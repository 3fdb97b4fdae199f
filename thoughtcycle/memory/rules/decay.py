"""What upkeep makes of a memory as time passes: priority, archive, and who might say the same (pure)."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import combinations
from math import log
from typing import Literal

from thoughtcycle.memory.model import PRIORITIES, Access, MemoryRecord
from thoughtcycle.memory.text import terms

Why = Literal["expired", "faded", "unused"]

FADING = 0.1
"""Strength that an emotional memory loses per week without reinforcement (HM-7)."""
FORGOTTEN = 0.3
"""Strength below which an emotional memory is archived (HM-7)."""
UNUSED = timedelta(days=180)
"""After so long without being said, found or changed, a long-term memory is archived (LM-1)."""
CRITICAL = 71
"""Importance from which on nothing is archived for lack of use (SM-4)."""
RAISED, LOWERED = 2.0, 2.0
"""How far use moves a priority up from that of its layer, and time down."""
STEP = 0.5
"""A priority that would move by less stays where it is: not every day is a change."""
BLOCK = 24
"""Memories that share a rare word and are compared with one another; a more common word says nothing."""
RAREST = 3
"""Words of a memory by which others that might say the same are found."""


def strength(record: MemoryRecord, now: datetime) -> float:
    """Base weight with decay, in [0, 1] (HM-7): `bio` stays 1.0, `emo` fades 0.1 a week unless pinned."""
    if record.kind == "bio":
        return 1.0
    if record.kind != "emo" or record.pinned:
        return record.weight
    return max(0.0, record.weight - FADING * max(0.0, age(record, now) / timedelta(weeks=1)))


def age(record: MemoryRecord, now: datetime) -> timedelta:
    """Time since it was last said."""
    return now - max(record.valid_from, record.reinforced_at or record.valid_from)


def last_use(record: MemoryRecord, access: Access | None) -> datetime:
    """When the memory was last said, changed or found."""
    times = [record.valid_from, record.updated]
    times += [record.reinforced_at] if record.reinforced_at else []
    return max([*times, access.last] if access else times)


def past_its_time(record: MemoryRecord, access: Access | None, now: datetime) -> Why | None:
    """Why an active memory belongs into the archive by now; None: it stays.

    What is pinned stays. Only `emo` fades; biography, preferences, landmark events and what was judged
    critical are never archived for lack of use.
    """
    if record.pinned:
        return None
    if record.expires is not None and record.expires <= now:
        return "expired"
    if record.kind == "emo":
        return "faded" if round(strength(record, now), 6) < FORGOTTEN else None
    lasting = record.kind in ("bio", "pref") or record.layer != "long" or (record.importance or 0) >= CRITICAL
    return "unused" if not lasting and now - last_use(record, access) > UNUSED else None


def priority_by_use(record: MemoryRecord, access: Access | None, now: datetime) -> float | None:
    """The priority that use and time give (LM-11), in 1…10; None: as it is.

    That of the layer, plus ln(1 + times found) up to 2, minus the half-years without use up to 2. It
    follows from what is stored alone, so that tending twice moves nothing twice.
    """
    if record.pinned:
        return None
    found = log(1 + access.count) if access else 0.0
    idle = max(timedelta(0), now - last_use(record, access)) / UNUSED
    wanted = PRIORITIES[record.layer] + min(RAISED, found) - min(LOWERED, idle)
    wanted = round(min(10.0, max(1.0, wanted)), 1)
    return wanted if abs(wanted - record.priority) >= STEP else None


class Sketches:
    """The content words of many memories as numbers: enough to see who might say the same."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counts: Counter[int] = Counter()
        self._ids: list[str] = []
        self._words: list[array[int]] = []
        """Of each memory, each once."""

    def add(self, records: Iterable[MemoryRecord]) -> None:
        """Takes memories in; what is no plain text, or longer than a fact, is compared with nothing."""
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
