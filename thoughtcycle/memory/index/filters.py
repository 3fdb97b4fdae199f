"""Filters of a search by kind, layer, tag and time: on records and, as arrays, inside an index."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar, get_args

import numpy as np
import numpy.typing as npt

from thoughtcycle.memory.index.postings import grown
from thoughtcycle.memory.model import Kind, Layer, MemoryRecord, Status
from thoughtcycle.memory.storage import Entry

_KINDS: dict[Kind | None, int] = {None: 1, **{kind: n for n, kind in enumerate(get_args(Kind), 2)}}
_LAYERS: dict[Layer, int] = {layer: n for n, layer in enumerate(get_args(Layer), 1)}
"""As small numbers; 0 is a free slot."""

Mask = npt.NDArray[np.bool_]
Time = TypeVar("Time", datetime, datetime | None)


@dataclass(frozen=True)
class Filters:
    """Conditions on memories; None: no condition."""

    kinds: Collection[Kind] | None = None
    layers: Collection[Layer] | None = None
    tags: Collection[str] | None = None
    """One of these is enough."""
    since: datetime | None = None
    until: datetime | None = None
    """Said at or after `since`, and before `until`."""

    def match(self, record: MemoryRecord) -> bool:
        """Whether a memory meets the conditions."""
        return (
            (self.kinds is None or record.kind in self.kinds)
            and (self.layers is None or record.layer in self.layers)
            and (self.tags is None or not set(self.tags).isdisjoint(record.tags))
            and (self.since is None or record.valid_from >= self.since)
            and (self.until is None or record.valid_from < self.until)
        )


ALL = Filters()
BELIEVED: tuple[Status, ...] = ("active", "archived", "superseded")
"""Statuses of what was believed at some time; archiving takes nothing back."""


def aware(at: Time) -> Time:
    """A time without a zone is UTC."""
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def valid_at(record: MemoryRecord, at: datetime) -> bool:
    """Whether the memory, or this former version of it, was believed at that time."""
    return record.valid_from <= at and (record.valid_to is None or at < record.valid_to)


class FilterColumns:
    """Kind, layer, time and tags of each slot of an index, as arrays. Not thread-safe."""

    def __init__(self) -> None:
        self._kinds, self._layers = np.zeros(64, np.int8), np.zeros(64, np.int8)
        self._times = np.zeros(64, np.float64)
        """When it was said, in seconds since 1970."""
        self._tagged: dict[int, tuple[str, ...]] = {}
        self._tags: defaultdict[str, set[int]] = defaultdict(set)

    @property
    def nbytes(self) -> int:
        """Memory used, about."""
        arrays = (self._kinds, self._layers, self._times)
        return sum(array.nbytes for array in arrays) + 300 * len(self._tagged)

    def put(self, slots: Sequence[int], entries: Sequence[Entry]) -> None:
        """Fills free slots."""
        size = max(slots, default=0) + 1
        self._kinds, self._layers = grown(self._kinds, size), grown(self._layers, size)
        self._times = grown(self._times, size)
        places = np.asarray(slots, np.int64)
        self._kinds[places] = [_KINDS[entry.kind] for entry in entries]
        self._layers[places] = [_LAYERS[entry.layer] for entry in entries]
        self._times[places] = [entry.said.timestamp() for entry in entries]
        for slot, entry in zip(slots, entries, strict=True):
            if entry.tags:
                self._tagged[slot] = entry.tags
                for tag in entry.tags:
                    self._tags[tag].add(slot)

    def free(self, slots: Iterable[int]) -> None:
        """Frees these slots."""
        for slot in slots:
            self._kinds[slot] = 0
            for tag in set(self._tagged.pop(slot, ())):
                self._tags[tag].discard(slot)
                if not self._tags[tag]:
                    del self._tags[tag]

    def tags(self) -> list[str]:
        """All tags in use, sorted."""
        return sorted(self._tags)

    def matching(self, filters: Filters) -> Mask | None:
        """Which slots meet the conditions; None: all."""
        if filters == ALL:
            return None
        mask = self._kinds > 0
        if filters.kinds is not None:
            mask &= np.isin(self._kinds, [_KINDS.get(kind, -1) for kind in filters.kinds])
        if filters.layers is not None:
            mask &= np.isin(self._layers, [_LAYERS.get(layer, -1) for layer in filters.layers])
        if filters.since is not None:
            mask &= self._times >= filters.since.timestamp()
        if filters.until is not None:
            mask &= self._times < filters.until.timestamp()
        if filters.tags is not None:
            tagged = np.zeros(len(mask), np.bool_)
            slots = [slot for tag in filters.tags for slot in self._tags.get(tag, ())]
            tagged[np.array(slots, np.int64)] = True
            mask &= tagged
        return mask
