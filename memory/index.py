"""A space's derived index: FAISS for vectors, postings for words; a cache made from the documents alone."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from thoughtcycle.memory.postings import Postings, grown
from thoughtcycle.memory.ranking import FLOOR, Keywords, fuse
from thoughtcycle.memory.records import Kind, MemoryRecord, Vector
from thoughtcycle.memory.storage.base import Feed
from thoughtcycle.memory.vectors import Vectors
from thoughtcycle.memory.words import terms

_NEAREST = 128
"""Vectors, and keyword matches, looked at per query; a memory has one vector per search key."""
_KINDS: dict[Kind | None, int] = {None: 1, "bio": 2, "pref": 3, "emo": 4, "obj": 5}
"""As small numbers; 0 stands for a slot that is free."""


@dataclass(frozen=True)
class Found:
    """A candidate of a search."""

    memory: str
    relevance: float
    nearest: str | None
    """Text of its nearest vector, where that was near enough to count."""


@dataclass
class _Dense:
    """The vectors of one dimension, and whose they are."""

    vectors: Vectors
    slots: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(64, np.int32))
    """Row → number of its memory plus 1; 0: nobody's."""
    texts: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Near:
    """The memories nearest to a query, each once."""

    slots: npt.NDArray[np.integer]
    cosines: npt.NDArray[np.floating]
    rows: npt.NDArray[np.integer]
    mean: float


_FAR = _Near(np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.int64), 0.0)


class SpaceIndex:
    """The active memories of one user, as of journal row `number`. CPU-bound, not thread-safe.

    Its statistics are its own: nothing of another space has any part in a score (BY-5).
    """

    def __init__(self) -> None:
        self.number = 0
        self.hidden: dict[str, str | None] = {}
        """Ids of hidden memories, with the reason."""
        self.revisions: dict[str, int] = {}
        """Of every memory that can be found."""
        self._slots: dict[str, int] = {}
        self._ids: dict[int, str] = {}
        self._rows: dict[int, list[tuple[int, int]]] = defaultdict(list)
        """Slot → dimension and row of each of its vectors."""
        self._free: list[int] = []
        self._kinds = np.zeros(64, np.int8)
        self._postings = Postings()
        self._dense: dict[int, _Dense] = {}

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
            among = np.isin(self._kinds, [_KINDS[kind] for kind in kinds])
        words = _best(self._postings.search(terms(query), among), max(_NEAREST, limit))
        near = self._nearest(vector, among, words.documents, max(_NEAREST, 2 * limit))
        slots = np.union1d(near.slots, words.documents)
        cosines, share, coverage = np.full((3, len(slots)), [[np.nan], [0.0], [0.0]])
        cosines[np.searchsorted(slots, near.slots)] = near.cosines
        at = np.searchsorted(slots, words.documents)
        share[at], coverage[at] = words.share, words.coverage
        relevance = fuse(cosines, share, coverage, mean=near.mean, floor=floor)
        order = np.lexsort((slots, -relevance))[:limit]
        texts = self._dense[vector.size].texts if vector is not None and len(near.slots) else {}
        keys = dict(zip(near.slots.tolist(), near.rows.tolist(), strict=True))
        return [
            Found(self._ids[slot], value, texts.get(keys.get(slot, -1)))
            for slot, value in zip(slots[order].tolist(), relevance[order].tolist(), strict=True)
            if value > 0
        ]

    def _nearest(
        self,
        vector: np.ndarray | None,
        among: npt.NDArray[np.bool_] | None,
        also: npt.NDArray[np.integer],
        count: int,
    ) -> _Near:
        """The memories of the nearest vectors, and those of the slots `also`."""
        dense = self._dense.get(vector.size) if vector is not None else None
        if vector is None or dense is None or not len(dense.vectors):
            return _FAR
        owners = dense.slots[: dense.vectors.size]
        wanted = None
        if among is not None:
            wanted = np.flatnonzero(np.append(False, among)[owners])
        rows, cosines = dense.vectors.nearest(vector, count, wanted)
        named = np.zeros(len(self._kinds) + 1, np.bool_)
        named[also + 1] = True
        more = np.flatnonzero(named[owners])
        rows = np.concatenate((rows, more))
        cosines = np.concatenate((cosines, dense.vectors.cosines(vector, more)))
        order = np.argsort(-cosines, kind="stable")
        slots, first = np.unique(owners[rows[order]], return_index=True)
        best = order[first[slots > 0]]
        return _Near(slots[slots > 0] - 1, cosines[best], rows[best], dense.vectors.mean(vector))

    def _add(self, records: Sequence[MemoryRecord], vectors: dict[str, list[Vector]]) -> None:
        new: dict[int, list[tuple[int, Vector]]] = defaultdict(list)
        for record in records:
            slot = self._free.pop() if self._free else len(self._slots)
            self._slots[record.id], self._ids[slot] = slot, record.id
            self.revisions[record.id] = record.revision
            self._kinds = grown(self._kinds, slot + 1)
            self._kinds[slot] = _KINDS[record.kind]
            self._postings.add(slot, (record.text, *record.bindings))
            for vector in vectors.get(record.id, ()):
                new[len(vector.data) // 4].append((slot, vector))
        for dimension, pairs in new.items():
            if dimension not in self._dense:
                self._dense[dimension] = _Dense(Vectors(dimension))
            dense = self._dense[dimension]
            data = b"".join(vector.data for _, vector in pairs)
            rows = dense.vectors.add(np.frombuffer(data, dtype="<f4").reshape(-1, dimension))
            dense.slots = grown(dense.slots, dense.vectors.size)
            dense.slots[rows] = [slot + 1 for slot, _ in pairs]
            for row, (slot, vector) in zip(rows, pairs, strict=True):
                dense.texts[row] = vector.text
                self._rows[slot].append((dimension, row))

    def _remove(self, memories: Iterable[str]) -> None:
        gone: dict[int, list[int]] = defaultdict(list)
        for memory in memories:
            slot = self._slots.pop(memory)
            del self._ids[slot], self.revisions[memory]
            self._free.append(slot)
            self._kinds[slot] = 0
            self._postings.remove(slot)
            for dimension, row in self._rows.pop(slot, ()):
                gone[dimension].append(row)
        for dimension, rows in gone.items():
            dense = self._dense[dimension]
            dense.vectors.remove(rows)
            dense.slots[rows] = 0
            for row in rows:
                del dense.texts[row]


def _best(words: Keywords, most: int) -> Keywords:
    """Those of the highest share."""
    if len(words.documents) <= most:
        return words
    kept = np.argpartition(-words.share, most)[:most]
    return Keywords(words.documents[kept], words.share[kept], words.coverage[kept])
