"""Memories that are searched together: FAISS for vectors, BM25 for words, statistics of their own."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thoughtcycle.memory.index.filters import ALL, FilterColumns, Filters, Mask
from thoughtcycle.memory.index.postings import Postings, grown
from thoughtcycle.memory.index.ranking import FLOOR, Recipe, Slots, fuse
from thoughtcycle.memory.index.segment import build_segment
from thoughtcycle.memory.index.vector_search import Vectors
from thoughtcycle.memory.storage import Block, Entry
from thoughtcycle.memory.text.analyzer import Term, terms

_NO_PLACE = -1
"""Place of the nearest vector of a memory without a vector near enough."""
_NEAREST = 64
"""Vectors, and keyword matches, examined per query; more vectors where these are keys of few memories."""
CANDIDATES = 10
"""Memories that are reranked (HM-9)."""


class Candidate(NamedTuple):
    """A memory that an index found."""

    memory: str
    revision: int
    relevance: float
    nearest: int | None
    """Place of its nearest vector among its vectors; None: none was near enough."""


@dataclass(frozen=True)
class MemoryQuery:
    """A search of memories for the best `limit` of them, none below the relevance `floor` (0…1)."""

    text: str
    vector: np.ndarray | None = None
    """Of `text`, of unit length; None: words only."""
    filters: Filters = ALL
    limit: int = 10
    floor: float = FLOOR
    recipe: Recipe = "adaptive"

    @property
    def candidates(self) -> int:
        """How many memories an index gives: at least `CANDIDATES`, because they are reranked."""
        return max(CANDIDATES, self.limit)

    @cached_property
    def terms(self) -> list[Term]:
        """The search terms of `text`."""
        return terms(self.text)


@dataclass
class _Dense:
    """The vectors of one dimension, and the memory of each."""

    vectors: Vectors
    owners: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(64, np.int32))
    """Row → slot of its memory plus 1; 0 for a free row."""
    places: npt.NDArray[np.int16] = field(default_factory=lambda: np.zeros(64, np.int16))
    """Row → which vector of its memory it is."""

    def add(self, matrix: npt.NDArray[np.float32], slots: Slots, places: Slots) -> None:
        rows = self.vectors.add(matrix)
        self.owners = grown(self.owners, self.vectors.size)
        self.places = grown(self.places, self.vectors.size)
        self.owners[rows] = slots + 1
        self.places[rows] = places

    def nearest(
        self, vector: np.ndarray, least: int, wanted: Mask | None
    ) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.float32]]:
        """Rows and cosines of the nearest vectors, enough for `least` memories where there are so many."""
        count = max(_NEAREST, least)
        rows, cosines = self.vectors.nearest(vector, count, wanted)
        while (
            len(rows) == count
            and self.places.take(rows).any()
            and len(np.unique(self.owners.take(rows))) < least
        ):
            count *= 4
            rows, cosines = self.vectors.nearest(vector, count, wanted)
        return rows, cosines

    def remove(self, gone: Mask) -> None:
        """Removes the vectors of the slots in `gone`."""
        rows = np.flatnonzero(self.mask(np.concatenate(((False,), gone))))
        self.vectors.remove(rows.tolist())
        self.owners[rows] = 0

    def mask(self, owners: Mask) -> Mask:
        """The rows of these owners."""
        return owners.take(self.owners[: self.vectors.size])


@dataclass(frozen=True)
class _Near:
    """The memories nearest to a query, each once."""

    slots: npt.NDArray[np.integer]
    cosines: npt.NDArray[np.floating]
    places: npt.NDArray[np.integer]
    mean: float


_FAR = _Near(np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.int16), 0.0)


class Corpus:
    """Memories by slots, small numbers that are reused. CPU-bound, not thread-safe."""

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._ids: list[str] = []
        """Slot → id; "" for a free slot."""
        self._free: list[int] = []
        self._revisions = np.zeros(64, np.int64)
        self._columns = FilterColumns()
        self._postings = Postings()
        self._dense: dict[int, _Dense] = {}

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def nbytes(self) -> int:
        """Memory used, about."""
        vectors = sum(dense.vectors.nbytes + dense.owners.nbytes for dense in self._dense.values())
        return 250 * len(self._ids) + self._columns.nbytes + self._postings.nbytes + vectors

    def revision(self, memory: str) -> int | None:
        """Revision of one of these memories; None for any other."""
        slot = self._slots.get(memory)
        return None if slot is None else int(self._revisions[slot])

    def matching(self, filters: Filters) -> Iterator[str]:
        """Ids of the memories that meet the conditions, the last changed first; valid until a change."""
        mask = self._columns.matching(filters)
        slots = np.flatnonzero(mask) if mask is not None else np.array(list(self._slots.values()), np.int64)
        order = np.argsort(-self._revisions[slots])
        return map(self._ids.__getitem__, slots[order].tolist())

    def tags(self) -> list[str]:
        """All tags in use, sorted."""
        return self._columns.tags()

    def add(self, entries: Sequence[Entry], blocks: Iterable[Block]) -> None:
        """Adds memories that are not there, with their vectors; vectors of others are ignored."""
        new = not self._ids
        slots = list(range(len(entries))) if new else [self._slot() for _ in entries]
        known = dict(zip((entry.id for entry in entries), slots, strict=True))
        if new:
            self._ids = list(known)
            with ThreadPoolExecutor(1) as pool:  # while vectors are copied, the interpreter is free
                copied = pool.submit(self._add_vectors, blocks, known)
                self._postings = Postings(build_segment(entry.texts for entry in entries))
                copied.result()
        else:
            for slot, entry in zip(slots, entries, strict=True):
                self._ids[slot] = entry.id
                self._postings.add(slot, entry.texts)
            self._add_vectors(blocks, known)
        self._slots.update(known)
        self._revisions = grown(self._revisions, len(self._ids))
        self._revisions[slots] = [entry.revision for entry in entries]
        self._columns.put(slots, entries)

    def _add_vectors(self, blocks: Iterable[Block], slots: Mapping[str, int]) -> None:
        for block in blocks:
            owners = np.array([slots.get(memory, -1) for memory, _ in block.owners], np.int64)
            places = np.array([place for _, place in block.owners], np.int64)
            known = owners >= 0
            if not known.any():
                continue
            matrix = np.frombuffer(block.data, dtype="<f4").reshape(-1, block.dimension)
            if not known.all():
                matrix, owners, places = matrix[known], owners[known], places[known]
            if block.dimension not in self._dense:
                self._dense[block.dimension] = _Dense(Vectors(block.dimension))
            self._dense[block.dimension].add(matrix, owners, places)

    def remove(self, memories: Iterable[str]) -> None:
        """Removes these memories; unknown ones are ignored."""
        if not self._slots:
            return
        slots = [slot for memory in memories if (slot := self._slots.pop(memory, None)) is not None]
        if not slots:
            return
        gone = np.zeros(len(self._ids), np.bool_)
        gone[slots] = True
        for dense in self._dense.values():
            dense.remove(gone)
        for slot in slots:
            self._ids[slot] = ""
        self._postings.remove(*slots)
        self._columns.free(slots)
        self._free += slots

    def search(self, query: MemoryQuery) -> list[Candidate]:
        """The most relevant memories, best first."""
        among = self._columns.matching(query.filters)
        words = self._postings.search(query.terms, among, most=max(_NEAREST, query.candidates))
        near = self._nearest(query.vector, among, words.documents, 2 * query.candidates)
        slots, cosines, places = near.slots, near.cosines, near.places
        where = np.full(len(self._ids), -1)
        where[slots] = np.arange(len(slots))
        at = where.take(words.documents)
        if (alone := at < 0).any():  # they have no vector
            more = words.documents[alone]
            at[alone] = np.arange(len(slots), len(slots) + len(more))
            slots = np.concatenate((slots, more))
            cosines = np.concatenate((cosines, np.full(len(more), np.nan)))
            places = np.concatenate((places, np.full(len(more), _NO_PLACE)))
        share, coverage = np.zeros((2, len(slots)))
        share[at], coverage[at] = words.share, words.coverage
        relevance = fuse(cosines, share, coverage, mean=near.mean, floor=query.floor, recipe=query.recipe)
        order = np.lexsort((slots, -relevance))[: query.candidates]
        best = slots[order]
        columns = (best, self._revisions[best], relevance[order], places[order])
        return [
            Candidate(self._ids[slot], revision, value, place if place != _NO_PLACE else None)
            for slot, revision, value, place in zip(*(column.tolist() for column in columns), strict=True)
            if value > 0
        ]

    def _nearest(
        self, vector: np.ndarray | None, among: Mask | None, also: npt.NDArray[np.integer], least: int
    ) -> _Near:
        """The memories of the nearest vectors, at least `least`, and those of the slots `also`."""
        dense = self._dense.get(vector.size) if vector is not None else None
        if vector is None or dense is None or not len(dense.vectors):
            return _FAR
        size = len(self._ids)
        wanted = None if among is None else dense.mask(np.concatenate(((False,), among[:size])))
        rows, cosines = dense.nearest(vector, least, wanted)
        named = np.zeros(size + 1, np.bool_)
        named[also + 1] = True
        more = dense.mask(named)
        more[rows] = False
        if others := int(np.count_nonzero(more)):
            found, further = dense.vectors.nearest(vector, others, more)
            rows, cosines = np.concatenate((rows, found)), np.concatenate((cosines, further))
        owners, places = dense.owners.take(rows), dense.places.take(rows)
        best = owners.nonzero()[0]
        if places.any():  # of a memory's vectors the nearest, of equals that of the first key
            order = np.lexsort((-places, np.round(cosines, 6)))
            last = np.zeros(size + 1, np.int64)
            last[owners[order]] = order
            best = best[last.take(owners)[best] == best]
        slots = owners[best].astype(np.int64) - 1
        return _Near(slots, cosines[best].astype(np.float64), places[best], dense.vectors.mean(vector))

    def _slot(self) -> int:
        if self._free:
            return self._free.pop()
        self._ids.append("")
        return len(self._ids) - 1
