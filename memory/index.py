"""A space's derived index: FAISS for vectors, postings for words; a cache made from the documents alone."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from thoughtcycle.memory.postings import Postings
from thoughtcycle.memory.ranking import FLOOR, Keywords, fuse
from thoughtcycle.memory.records import Kind, MemoryRecord, Vector
from thoughtcycle.memory.storage.base import Feed
from thoughtcycle.memory.vectors import Vectors
from thoughtcycle.memory.words import terms

_NEAREST = 128
"""Vectors, and keyword matches, looked at per query; a memory has one vector per search key."""


@dataclass(frozen=True)
class Found:
    """A candidate of a search."""

    memory: str
    relevance: float
    nearest: str | None
    """Text of its nearest vector, where that was near enough to count."""


@dataclass(frozen=True)
class _Entry:
    memory: str
    kind: Kind | None
    vectors: dict[int, list[int]]
    """Dimension → row numbers."""


class SpaceIndex:
    """The active memories of one user, as of journal row `number`. CPU-bound, not thread-safe.

    Its statistics are its own: nothing of another space has any part in a score (BY-5).
    """

    def __init__(self) -> None:
        self.number = 0
        self.hidden: dict[str, str | None] = {}
        """Ids of hidden memories, with the reason."""
        self._slots: dict[str, int] = {}
        self._entries: list[_Entry | None] = []
        self._free: list[int] = []
        self._postings = Postings()
        self._vectors: dict[int, Vectors] = {}
        self._keys: dict[int, dict[int, tuple[int, str]]] = defaultdict(dict)

    def __len__(self) -> int:
        """How many memories can be found."""
        return len(self._slots)

    def apply(self, feed: Feed) -> None:
        """Brings the index up to `feed.number`: each memory in the feed replaces what was known of it."""
        self._remove([record.id for record in feed.records if record.id in self._slots])
        vectors = defaultdict(list)
        for vector in feed.vectors:
            vectors[vector.memory].append(vector)
        self._add([record for record in feed.records if record.status == "active"], vectors)
        for record in feed.records:
            self.hidden.pop(record.id, None)
            if record.status == "hidden":
                self.hidden[record.id] = record.reason
        self.number = feed.number

    def search(
        self,
        query: str,
        vector: np.ndarray | None,
        *,
        kinds: Collection[Kind] | None = None,
        limit: int = 10,
        floor: float = FLOOR,
    ) -> list[Found]:
        """The `limit` most relevant active memories, best first; those below `floor` are not related."""
        among = None
        if kinds is not None:
            among = np.array([entry is not None and entry.kind in kinds for entry in self._entries], np.bool_)
        words = _best(self._postings.search(terms(query), among), max(_NEAREST, limit))
        cosines, nearest, mean = self._nearest(vector, among, words.documents.tolist(), limit)
        slots = np.array(list(dict.fromkeys([*cosines, *words.documents.tolist()])), np.int64)
        place = {slot: at for at, slot in enumerate(slots.tolist())}
        share, coverage = np.zeros(len(slots)), np.zeros(len(slots))
        at = [place[slot] for slot in words.documents.tolist()]
        share[at], coverage[at] = words.share, words.coverage
        dense = np.array([cosines.get(slot, np.nan) for slot in slots.tolist()], np.float64)
        relevance = fuse(dense, share, coverage, mean=mean, floor=floor)
        order = np.lexsort((slots, -relevance))[:limit].tolist()
        return [
            Found(self._entry(int(slots[at])).memory, float(relevance[at]), nearest.get(int(slots[at])))
            for at in order
            if relevance[at] > 0
        ]

    def _nearest(
        self, vector: np.ndarray | None, among: np.ndarray | None, also: Iterable[int], limit: int
    ) -> tuple[dict[int, float], dict[int, str], float]:
        """Slot → best cosine (the nearest and `also`), slot → key of that vector, the query's mean cosine."""
        vectors = self._vectors.get(vector.size) if vector is not None else None
        if vector is None or vectors is None or not len(vectors):
            return {}, {}, 0.0
        dimension, rows = vector.size, None
        if among is not None:
            entries = (self._entry(slot) for slot in np.flatnonzero(among).tolist())
            rows = [row for entry in entries for row in entry.vectors.get(dimension, ())]
        found = vectors.nearest(vector, max(_NEAREST, 2 * limit), rows)
        more = [row for slot in also for row in self._entry(slot).vectors.get(dimension, ())]
        missing = np.array([row for row in more if row not in found], np.int64)
        if len(missing):
            found |= zip(missing.tolist(), vectors.cosines(vector, missing).tolist(), strict=True)
        keys = self._keys[dimension]
        cosines: dict[int, float] = {}
        nearest: dict[int, str] = {}
        for row, cosine in found.items():
            if row in keys and cosine > cosines.get(keys[row][0], -2.0):
                slot, nearest[slot] = keys[row]
                cosines[slot] = cosine
        return cosines, nearest, vectors.mean(vector)

    def _add(self, records: Sequence[MemoryRecord], vectors: dict[str, list[Vector]]) -> None:
        new: dict[int, list[tuple[int, Vector]]] = defaultdict(list)
        for record in records:
            slot = self._slot(_Entry(record.id, record.kind, defaultdict(list)))
            self._postings.add(slot, (record.text, *record.bindings))
            for vector in vectors.get(record.id, ()):
                new[len(vector.data) // 4].append((slot, vector))
        for dimension, pairs in new.items():
            if dimension not in self._vectors:
                self._vectors[dimension] = Vectors(dimension)
            data = b"".join(vector.data for _, vector in pairs)
            rows = self._vectors[dimension].add(np.frombuffer(data, dtype="<f4").reshape(-1, dimension))
            for row, (slot, vector) in zip(rows, pairs, strict=True):
                self._keys[dimension][row] = (slot, vector.text)
                self._entry(slot).vectors[dimension].append(row)

    def _remove(self, memories: Iterable[str]) -> None:
        rows: dict[int, list[int]] = defaultdict(list)
        for memory in memories:
            slot = self._slots.pop(memory)
            for dimension, own in self._entry(slot).vectors.items():
                rows[dimension] += own
            self._entries[slot] = None
            self._free.append(slot)
            self._postings.remove(slot)
        for dimension, own in rows.items():
            self._vectors[dimension].remove(own)
            for row in own:
                del self._keys[dimension][row]

    def _slot(self, entry: _Entry) -> int:
        if self._free:
            slot = self._free.pop()
            self._entries[slot] = entry
        else:
            slot = len(self._entries)
            self._entries.append(entry)
        self._slots[entry.memory] = slot
        return slot

    def _entry(self, slot: int) -> _Entry:
        entry = self._entries[slot]
        if entry is None:
            raise LookupError(slot)
        return entry


def _best(words: Keywords, most: int) -> Keywords:
    """Those of the highest share."""
    if len(words.documents) <= most:
        return words
    kept = np.argpartition(-words.share, most)[:most]
    return Keywords(words.documents[kept], words.share[kept], words.coverage[kept])
