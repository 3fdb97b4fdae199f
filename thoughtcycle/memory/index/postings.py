"""Postings of one index: which documents contain a stem, and how often, as arrays; BM25 over them."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from thoughtcycle.memory.index.ranking import (
    MOST_SATURATED,
    Keywords,
    full_weight,
    idf,
    length_norms,
    saturated,
)
from thoughtcycle.memory.index.segment import EMPTY, Segment
from thoughtcycle.memory.text.analyzer import Term, terms

MOST_TERMS = 64
"""Terms of a query that count: the rest of a very long message is not read."""
_FEW = 8
"""Values that are partitioned to find a bound, per value that is wanted."""

Documents = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float32]
_NO_COLUMN: tuple[Documents, Numbers] = (np.empty(0, np.int32), np.empty(0, np.float32))


class Counted(NamedTuple):
    """The words of a document, counted."""

    forms: tuple[str, ...]
    counts: tuple[int, ...]
    """Occurrences of each form."""
    words: int


def counted(texts: Iterable[str]) -> Counted:
    """The words of `texts`."""
    words = [term for text in texts for term in terms(text)]
    counts = Counter(form for term in words for form in term)
    return Counted(tuple(counts), tuple(counts.values()), len(words))


@dataclass(slots=True)
class _Column:
    """The documents that contain one form, and how often."""

    documents: "array[int]" = field(default_factory=lambda: array("i"))
    counts: "array[float]" = field(default_factory=lambda: array("f"))

    def remove(self, gone: Sequence[int]) -> None:
        """Removes documents of this column."""
        if len(gone) > 1:
            documents, counts = self.arrays()
            remaining = np.isin(documents, gone, invert=True)
            self.documents = array("i", documents[remaining].tobytes())
            self.counts = array("f", counts[remaining].tobytes())
            return
        place = self.documents.index(gone[0])
        last, count = self.documents.pop(), self.counts.pop()
        if place < len(self.documents):
            self.documents[place], self.counts[place] = last, count

    def arrays(self) -> tuple[Documents, Numbers]:
        """Views, valid until the next change."""
        return np.frombuffer(self.documents, np.int32), np.frombuffer(self.counts, np.float32)


class Postings:
    """An inverted index; documents are small numbers given by the caller. Not thread-safe.

    A form's column is copied out of the segment when it changes.
    """

    def __init__(self, segment: Segment = EMPTY) -> None:
        """`segment` holds documents 0, 1, … from the beginning."""
        self._columns: dict[str, _Column] = {}
        self._forms: dict[int, tuple[str, ...]] = {}
        """Of each document that was added by itself."""
        self._segment = segment
        self._vocabulary = dict(zip(segment.names, range(len(segment.names)), strict=True))
        """Forms whose column is still that of the segment, as their numbers."""
        self._alive = np.ones(len(segment.lengths), np.bool_)
        """Documents of the segment that were not removed yet."""
        self._lengths: Numbers = segment.lengths.copy()
        self._norms: Numbers | None = None
        """Of the lengths, for `saturated`; None after a change."""
        self._total = float(segment.lengths.sum(dtype=np.float64))
        self._size, self._entries = len(segment.lengths), 0

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Memory used, about."""
        live = 300 * len(self._columns) + 200 * len(self._forms) + 16 * self._entries
        return live + 2 * self._lengths.nbytes + self._segment.nbytes

    def add(self, document: int, texts: Iterable[str]) -> None:
        """Adds a document with the words of `texts`; it must not be there yet."""
        self.add_counted(document, counted(texts))

    def add_counted(self, document: int, words: Counted) -> None:
        """As `add`, given the counted words."""
        for form, count in zip(words.forms, words.counts, strict=True):
            column = self._writable(form)
            column.documents.append(document)
            column.counts.append(count)
        self._forms[document] = words.forms
        self._lengths = grown(self._lengths, document + 1)
        self._lengths[document] = words.words
        self._norms = None
        self._total += words.words
        self._size += 1
        self._entries += len(words.forms)

    def remove(self, *gone: int) -> None:
        """Removes these documents, changing each column once; unknown ones are ignored."""
        removed = {document: forms for document in gone if (forms := self._pop_forms(document)) is not None}
        by_form: defaultdict[str, list[int]] = defaultdict(list)
        for document, forms in removed.items():
            for form in forms:
                by_form[form].append(document)
        for form, holders in by_form.items():
            column = self._writable(form)
            column.remove(holders)
            if not column.documents:
                del self._columns[form]
        documents = list(removed)
        self._total -= float(self._lengths[documents].sum(dtype=np.float64))
        self._lengths[documents] = 0
        self._norms = None
        self._size -= len(removed)

    def lengths(self, size: int) -> Numbers:
        """Words per document, for documents 0 to `size`."""
        self._lengths = grown(self._lengths, size)
        return self._lengths[:size]

    def holders(self, term: Term) -> tuple[Documents, Numbers]:
        """Documents that contain any form of `term`, each once, with the highest count among the forms."""
        columns = [column for form in term if (column := self._column(form)) is not None]
        if not columns:
            return _NO_COLUMN
        documents, counts = columns[0]
        for more, their in columns[1:]:
            documents, counts = _union(documents, counts, more, their)
        return documents, counts

    def search(
        self, query: Sequence[Term], among: npt.NDArray[np.bool_] | None = None, *, most: int
    ) -> Keywords:
        """The `most` documents of the mask `among` with the best evidence for the terms of `query`."""
        if self._norms is None:
            self._norms = length_norms(self._lengths, self._total / self._size if self._size else 0.0)
        columns = [self.holders(term) for term in list(dict.fromkeys(query))[:MOST_TERMS]]
        weights = [idf(self._size, len(documents)) for documents, _ in columns]
        every = np.concatenate([_NO_COLUMN[0], *(documents for documents, _ in columns)], dtype=np.intp)
        counts = np.concatenate([_NO_COLUMN[1], *(counts for _, counts in columns)])
        each = np.repeat(weights, [len(documents) for documents, _ in columns])
        if among is not None:
            wanted = among[every]
            every, counts, each = every[wanted], counts[wanted], each[wanted]
        size = len(self._norms)
        bm25 = np.bincount(every, each * saturated(counts, self._norms.take(every)), size)
        found = (bm25 > 0).nonzero()[0]
        share = bm25.take(found) / max(MOST_SATURATED * sum(weights), 1e-9)
        if len(found) > most:
            best = _largest(share, most)
            found, share = found.take(best), share.take(best)
        matched = np.bincount(every, each, size).take(found)
        return Keywords(found, share, np.minimum(1.0, matched / max(full_weight(weights), 1e-9)))

    def _column(self, form: str) -> tuple[Documents, Numbers] | None:
        """Views of a form's documents and counts, valid until the next change."""
        if (column := self._columns.get(form)) is not None:
            return column.arrays()
        if (number := self._vocabulary.get(form)) is None:
            return None
        part = slice(self._segment.starts[number], self._segment.starts[number + 1])
        return self._segment.documents[part], self._segment.counts[part]

    def _writable(self, form: str) -> _Column:
        """A form's column, copied out of the segment where it is still there."""
        if (column := self._columns.get(form)) is None:
            documents, counts = self._column(form) or _NO_COLUMN
            self._vocabulary.pop(form, None)
            column = self._columns[form] = _Column()
            column.documents.frombytes(documents.tobytes())
            column.counts.frombytes(counts.tobytes())
        return column

    def _pop_forms(self, document: int) -> Sequence[str] | None:
        """Removes a document and returns its forms; None when it is not there."""
        if (forms := self._forms.pop(document, None)) is not None:
            self._entries -= len(forms)
            return forms
        if document >= len(self._alive) or not self._alive[document]:
            return None
        self._alive[document] = False
        part = slice(self._segment.places[document], self._segment.places[document + 1])
        return [self._segment.names[number] for number in self._segment.forms[part].tolist()]


def _union(
    documents: Documents, counts: Numbers, more: Documents, their: Numbers
) -> tuple[Documents, Numbers]:
    """The union of two columns, with the higher count where a document is in both."""
    if len(documents) == len(more) and (documents == more).all():  # two languages' stems of the same word
        return documents, np.maximum(counts, their)
    size = int(max(documents.max(), more.max())) + 1
    highest = np.zeros(size, np.float32)
    highest[documents] = counts
    new = more[highest[more] == 0]
    highest[more] = np.maximum(highest[more], their)
    every = np.concatenate((documents, new))
    return every, highest[every]


def _largest(values: npt.NDArray[np.floating], count: int) -> npt.NDArray[np.intp]:
    """Places of the `count` largest of more values, in any order.

    The `count`-th largest of a sample is a lower bound: values below it need no partitioning.
    """
    few = values[: _FEW * count]
    bound = np.partition(few, len(few) - count)[len(few) - count]
    (places,) = (values >= bound).nonzero()
    best = np.argpartition(values.take(places), len(places) - count)[len(places) - count :]
    largest: npt.NDArray[np.intp] = places[best]
    return largest


Values = TypeVar("Values", bound=np.generic)


def grown(values: npt.NDArray[Values], size: int) -> npt.NDArray[Values]:
    """`values`, or a copy with zeros behind that has room for `size`."""
    if size <= len(values):
        return values
    larger = np.zeros(max(size, 2 * len(values)), values.dtype)
    larger[: len(values)] = values
    return larger
