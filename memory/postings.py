"""Keyword postings of one index: which document holds which stem how often, as arrays."""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from thoughtcycle.memory.ranking import MOST_SATURATED, Keywords, idf, saturation, whole
from thoughtcycle.memory.words import Term, terms

MOST_TERMS = 64
"""Terms of a query that count: the rest of a very long message is not read."""

Documents = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float32]
NOBODY: tuple[Documents, Numbers] = (np.empty(0, np.int32), np.empty(0, np.float32))


@dataclass
class _Column:
    """The documents that hold one form, and how often."""

    documents: "array[int]" = field(default_factory=lambda: array("i"))
    counts: "array[float]" = field(default_factory=lambda: array("f"))

    def remove(self, document: int) -> None:
        place = self.documents.index(document)
        last, count = self.documents.pop(), self.counts.pop()
        if place < len(self.documents):
            self.documents[place], self.counts[place] = last, count

    def arrays(self) -> tuple[Documents, Numbers]:
        """Views, valid until the next change."""
        return np.frombuffer(self.documents, np.int32), np.frombuffer(self.counts, np.float32)


class Postings:
    """Live in memory; documents are small numbers given by the caller. Not thread-safe."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._forms: dict[int, tuple[str, ...]] = {}
        self._lengths: Numbers = np.zeros(64, np.float32)
        self._total = 0.0

    def __len__(self) -> int:
        return len(self._forms)

    def add(self, document: int, texts: Iterable[str]) -> None:
        """Puts the words of `texts` under `document`, which must not be there yet."""
        words = [term for text in texts for term in terms(text)]
        counts = Counter(form for term in words for form in term)
        for form, count in counts.items():
            if (column := self._columns.get(form)) is None:
                column = self._columns[form] = _Column()
            column.documents.append(document)
            column.counts.append(count)
        self._forms[document] = tuple(counts)
        self._lengths = grown(self._lengths, document + 1)
        self._lengths[document] = len(words)
        self._total += len(words)

    def remove(self, document: int) -> None:
        """Forgets `document`; nothing happens when it is unknown."""
        if (forms := self._forms.pop(document, None)) is None:
            return
        for form in forms:
            column = self._columns[form]
            column.remove(document)
            if not column.documents:
                del self._columns[form]
        self._total -= float(self._lengths[document])
        self._lengths[document] = 0

    def lengths(self, size: int) -> Numbers:
        """Words per document, for documents 0 to `size`."""
        self._lengths = grown(self._lengths, size)
        return self._lengths[:size]

    def holders(self, term: Term) -> tuple[Documents, Numbers]:
        """Documents that hold any form of `term`, each once, with the highest count among the forms."""
        columns = [self._columns[form] for form in term if form in self._columns]
        if not columns:
            return NOBODY
        documents, counts = columns[0].arrays()
        for column in columns[1:]:
            documents, counts = _united(documents, counts, *column.arrays())
        return documents, counts

    def search(self, query: Sequence[Term], among: npt.NDArray[np.bool_] | None = None) -> Keywords:
        """Every document that holds a term of `query` (and is `among` these), with its evidence."""
        size = len(self._lengths)
        mean = self._total / len(self._forms) if self._forms else 0.0
        bm25, matched = np.zeros(size, np.float32), np.zeros(size, np.float32)
        weights = []
        for term in list(dict.fromkeys(query))[:MOST_TERMS]:
            documents, counts = self.holders(term)
            weight = idf(len(self._forms), len(documents))
            weights.append(weight)
            if not len(documents):
                continue
            if among is not None:
                counts, documents = counts[among[documents]], documents[among[documents]]
            bm25[documents] += weight * saturation(counts, self._lengths[documents], mean)
            matched[documents] += weight
        found = np.flatnonzero(matched)
        return Keywords(
            found,
            bm25[found] / max(MOST_SATURATED * sum(weights), 1e-9),
            np.minimum(1.0, matched[found] / max(whole(weights), 1e-9)),
        )


def _united(
    documents: Documents, counts: Numbers, more: Documents, their: Numbers
) -> tuple[Documents, Numbers]:
    """Two columns as one: the higher count where a document is in both."""
    size = int(max(documents.max(), more.max())) + 1
    highest = np.zeros(size, np.float32)
    highest[documents] = counts
    new = more[highest[more] == 0]
    highest[more] = np.maximum(highest[more], their)
    every = np.concatenate((documents, new))
    return every, highest[every]


Values = TypeVar("Values", bound=np.generic)


def grown(values: npt.NDArray[Values], size: int) -> npt.NDArray[Values]:
    """`values`, or a copy with zeros behind that has room for `size`."""
    if size <= len(values):
        return values
    larger = np.zeros(max(size, 2 * len(values)), values.dtype)
    larger[: len(values)] = values
    return larger
