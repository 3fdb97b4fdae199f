"""A space's derived index: FAISS for vectors, postings for words; a cache made from the documents alone."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thoughtcycle.memory.postings import Postings
from thoughtcycle.memory.ranking import FLOOR, fuse
from thoughtcycle.memory.records import Kind, MemoryRecord, Vector
from thoughtcycle.memory.storage.base import Feed
from thoughtcycle.memory.words import terms

_NEAREST = 128
"""Vectors looked at per query; a memory has one per search key."""
_MANY = 20
"""Vectors from which on their mean says something about the model."""


@dataclass(frozen=True)
class Found:
    """A candidate of a search."""

    memory: str
    relevance: float
    nearest: str | None
    """Text of its nearest vector, where that was near enough to count."""


@dataclass(frozen=True)
class _Entry:
    number: int
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
        self._entries: dict[str, _Entry] = {}
        self._ids: dict[int, str] = {}
        self._postings = Postings()
        self._dense: dict[int, Any] = {}
        self._sums: dict[int, np.ndarray] = {}
        self._keys: dict[int, tuple[int, str]] = {}
        self._next = 0

    def __len__(self) -> int:
        """How many memories can be found."""
        return len(self._entries)

    def apply(self, feed: Feed) -> None:
        """Brings the index up to `feed.number`: each memory in the feed replaces what was known of it."""
        self._remove([record.id for record in feed.records if record.id in self._entries])
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
            among = {entry.number for entry in self._entries.values() if entry.kind in kinds}
        dense, nearest, mean = self._nearest(vector, among)
        scores = fuse(dense, self._postings.search(terms(query), among), mean=mean, floor=floor)
        best = sorted(scores, key=lambda id: (-scores[id], id))[:limit]
        return [Found(self._ids[id], scores[id], nearest.get(id)) for id in best]

    def _nearest(
        self, vector: np.ndarray | None, among: Collection[int] | None
    ) -> tuple[dict[int, float], dict[int, str], float]:
        """Memory → best cosine, memory → text of that vector, and the query's mean cosine."""
        index = self._dense.get(vector.size) if vector is not None else None
        if vector is None or index is None or not index.ntotal:
            return {}, {}, 0.0
        wanted = None
        if among is not None:
            entries = (entry for entry in self._entries.values() if entry.number in among)
            wanted = _selection(row for entry in entries for row in entry.vectors.get(vector.size, ()))
        cosines, rows_found = index.search(vector.reshape(1, -1), min(_NEAREST, index.ntotal), params=wanted)
        dense: dict[int, float] = {}
        nearest: dict[int, str] = {}
        for cosine, row in zip(cosines[0].tolist(), rows_found[0].tolist(), strict=True):
            if row >= 0 and self._keys[row][0] not in dense:
                number, text = self._keys[row]
                dense[number], nearest[number] = cosine, text
        mean = float(vector @ self._sums[vector.size]) / index.ntotal if index.ntotal >= _MANY else 0.0
        return dense, nearest, mean

    def _add(self, records: Sequence[MemoryRecord], vectors: dict[str, list[Vector]]) -> None:
        rows: dict[int, list[tuple[int, np.ndarray]]] = defaultdict(list)
        for record in records:
            number = self._number()
            own: dict[int, list[int]] = defaultdict(list)
            for vector in vectors.get(record.id, ()):
                data = np.frombuffer(vector.data, dtype="<f4")
                row = self._number()
                self._keys[row] = (number, vector.text)
                own[data.size].append(row)
                rows[data.size].append((row, data))
            self._entries[record.id] = _Entry(number, record.kind, dict(own))
            self._ids[number] = record.id
            self._postings.add(number, (record.text, *record.bindings))
        for dimension, pairs in rows.items():
            numbers = np.array([row for row, _ in pairs], dtype=np.int64)
            matrix = np.ascontiguousarray([data for _, data in pairs], dtype=np.float32)
            self._flat(dimension).add_with_ids(matrix, numbers)
            self._sums[dimension] += matrix.sum(axis=0, dtype=np.float64)

    def _remove(self, memories: Iterable[str]) -> None:
        rows: dict[int, list[int]] = defaultdict(list)
        for memory in memories:
            entry = self._entries.pop(memory)
            del self._ids[entry.number]
            self._postings.remove(entry.number)
            for dimension, own in entry.vectors.items():
                rows[dimension] += own
        for dimension, own in rows.items():
            index = self._dense[dimension]
            for row in own:
                del self._keys[row]
                self._sums[dimension] -= index.reconstruct(row)
            index.remove_ids(np.array(own, dtype=np.int64))

    def _flat(self, dimension: int) -> Any:
        """The exact inner-product index for vectors of this dimension."""
        if dimension not in self._dense:
            import faiss  # heavy: loaded by the first search that needs it, not by every command

            self._dense[dimension] = faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))
            self._sums[dimension] = np.zeros(dimension, dtype=np.float64)
        return self._dense[dimension]

    def _number(self) -> int:
        self._next += 1
        return self._next


def _selection(rows: Iterable[int]) -> Any:
    """Search parameters that look at these rows only."""
    import faiss

    parameters: Any = faiss.SearchParameters  # its declared signature lacks `sel`
    return parameters(sel=faiss.IDSelectorBatch(np.array(list(rows), dtype=np.int64)))
