"""Keyword postings of one index: which document holds which stem how often, as arrays."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from thoughtcycle.memory.index.ranking import MOST_SATURATED, Keywords, idf, length_norms, saturated, whole
from thoughtcycle.memory.index.segment import Settled, settle
from thoughtcycle.memory.text import Term, terms

MOST_TERMS = 64
"""Terms of a query that count: the rest of a very long message is not read."""
_FEW = 8
"""Values that are sorted to find a bound, for each that is wanted."""

Documents = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float32]
NOBODY: tuple[Documents, Numbers] = (np.empty(0, np.int32), np.empty(0, np.float32))


class Counted(NamedTuple):
    """The words of a document; shared by all that say the same, where the caller keeps it."""

    forms: tuple[str, ...]
    counts: tuple[int, ...]
    """How often each form is there."""
    words: int


def counted(texts: Iterable[str]) -> Counted:
    """The words of `texts`."""
    words = [term for text in texts for term in terms(text)]
    counts = Counter(form for term in words for form in term)
    return Counted(tuple(counts), tuple(counts.values()), len(words))


@dataclass(slots=True)
class _Column:
    """The documents that hold one form, and how often."""

    documents: "array[int]" = field(default_factory=lambda: array("i"))
    counts: "array[float]" = field(default_factory=lambda: array("f"))

    def remove(self, gone: Sequence[int]) -> None:
        """Takes out documents that are there."""
        if len(gone) > 1:
            documents, counts = self.arrays()
            left = np.isin(documents, gone, invert=True)
            self.documents = array("i", documents[left].tobytes())
            self.counts = array("f", counts[left].tobytes())
            return
        place = self.documents.index(gone[0])
        last, count = self.documents.pop(), self.counts.pop()
        if place < len(self.documents):
            self.documents[place], self.counts[place] = last, count

    def arrays(self) -> tuple[Documents, Numbers]:
        """Views, valid until the next change."""
        return np.frombuffer(self.documents, np.int32), np.frombuffer(self.counts, np.float32)


class Postings:
    """Live in memory; documents are small numbers given by the caller. Not thread-safe.

    What was built at once stays in its arrays; a form's column is copied out of them when it changes.
    """

    def __init__(self, settled: Settled | None = None) -> None:
        """`settled` holds documents 0, 1, … from the beginning."""
        self._columns: dict[str, _Column] = {}
        self._forms: dict[int, tuple[str, ...]] = {}
        """Of each document that was added by itself."""
        self._settled = settled
        self._vocabulary: dict[str, int] = {}
        """Forms whose column is still the settled one, as their numbers."""
        self._there = np.zeros(0, np.bool_)
        """Which settled documents were not removed yet."""
        self._lengths: Numbers = np.zeros(64, np.float32)
        self._norms: Numbers | None = None
        """Of the lengths, for `saturated`; None after a change."""
        self._total, self._size, self._entries = 0.0, 0, 0
        if settled is not None:
            self._vocabulary = dict(zip(settled.names, range(len(settled.names)), strict=True))
            self._there = np.ones(len(settled.lengths), np.bool_)
            self._lengths = settled.lengths.copy()
            self._total = float(settled.lengths.sum(dtype=np.float64))
            self._size = len(settled.lengths)

    @classmethod
    def built(cls, documents: Iterable[Sequence[str]]) -> "Postings":
        """Of documents 0, 1, …, each given as its texts: many times faster than one after the other."""
        return cls(settle(documents))

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Memory used, about."""
        live = 300 * len(self._columns) + 200 * len(self._forms) + 16 * self._entries
        return live + 2 * self._lengths.nbytes + (self._settled.nbytes if self._settled is not None else 0)

    def add(self, document: int, texts: Iterable[str]) -> None:
        """Puts the words of `texts` under `document`, which must not be there yet."""
        self.put(document, counted(texts))

    def put(self, document: int, said: Counted) -> None:
        """As `add`, of what was counted already."""
        for form, count in zip(said.forms, said.counts, strict=True):
            column = self._own(form)
            column.documents.append(document)
            column.counts.append(count)
        self._forms[document] = said.forms
        self._lengths = grown(self._lengths, document + 1)
        self._lengths[document] = said.words
        self._norms = None
        self._total += said.words
        self._size += 1
        self._entries += len(said.forms)

    def remove(self, *gone: int) -> None:
        """Forgets these documents, each column once; unknown ones are passed over."""
        held = {document: forms for document in gone if (forms := self._held(document)) is not None}
        by_form: defaultdict[str, list[int]] = defaultdict(list)
        for document, forms in held.items():
            for form in forms:
                by_form[form].append(document)
        for form, documents in by_form.items():
            column = self._own(form)
            column.remove(documents)
            if not column.documents:
                del self._columns[form]
        some = list(held)
        self._total -= float(self._lengths[some].sum(dtype=np.float64))
        self._lengths[some] = 0
        self._norms = None
        self._size -= len(held)

    def lengths(self, size: int) -> Numbers:
        """Words per document, for documents 0 to `size`."""
        self._lengths = grown(self._lengths, size)
        return self._lengths[:size]

    def holders(self, term: Term) -> tuple[Documents, Numbers]:
        """Documents that hold any form of `term`, each once, with the highest count among the forms."""
        columns = [column for form in term if (column := self._column(form)) is not None]
        if not columns:
            return NOBODY
        documents, counts = columns[0]
        for more, their in columns[1:]:
            documents, counts = _united(documents, counts, more, their)
        return documents, counts

    def search(
        self, query: Sequence[Term], among: npt.NDArray[np.bool_] | None = None, *, most: int
    ) -> Keywords:
        """The `most` documents with the most evidence for the terms of `query`, of those that are `among`."""
        if self._norms is None:
            self._norms = length_norms(self._lengths, self._total / self._size if self._size else 0.0)
        columns = [self.holders(term) for term in list(dict.fromkeys(query))[:MOST_TERMS]]
        weights = [idf(self._size, len(documents)) for documents, _ in columns]
        every = np.concatenate([NOBODY[0], *(documents for documents, _ in columns)], dtype=np.intp)
        counts = np.concatenate([NOBODY[1], *(counts for _, counts in columns)])
        each = np.repeat(weights, [len(documents) for documents, _ in columns])
        if among is not None:
            kept = among[every]
            every, counts, each = every[kept], counts[kept], each[kept]
        size = len(self._norms)
        bm25 = np.bincount(every, each * saturated(counts, self._norms.take(every)), size)
        found = (bm25 > 0).nonzero()[0]
        share = bm25.take(found) / max(MOST_SATURATED * sum(weights), 1e-9)
        if len(found) > most:
            best = _largest(share, most)
            found, share = found.take(best), share.take(best)
        matched = np.bincount(every, each, size).take(found)
        return Keywords(found, share, np.minimum(1.0, matched / max(whole(weights), 1e-9)))

    def _column(self, form: str) -> tuple[Documents, Numbers] | None:
        """Views of a form's documents and counts, valid until the next change."""
        if (column := self._columns.get(form)) is not None:
            return column.arrays()
        if self._settled is None or (number := self._vocabulary.get(form)) is None:
            return None
        part = slice(self._settled.starts[number], self._settled.starts[number + 1])
        return self._settled.documents[part], self._settled.counts[part]

    def _own(self, form: str) -> _Column:
        """A form's column, to be changed."""
        if (column := self._columns.get(form)) is None:
            documents, counts = self._column(form) or NOBODY
            self._vocabulary.pop(form, None)
            column = self._columns[form] = _Column()
            column.documents.frombytes(documents.tobytes())
            column.counts.frombytes(counts.tobytes())
        return column

    def _held(self, document: int) -> Sequence[str] | None:
        """The forms of a document, which is not there any more; None when it never was."""
        if (forms := self._forms.pop(document, None)) is not None:
            self._entries -= len(forms)
            return forms
        if self._settled is None or document >= len(self._there) or not self._there[document]:
            return None
        self._there[document] = False
        part = slice(self._settled.places[document], self._settled.places[document + 1])
        return [self._settled.names[number] for number in self._settled.forms[part].tolist()]


def _united(
    documents: Documents, counts: Numbers, more: Documents, their: Numbers
) -> tuple[Documents, Numbers]:
    """Two columns as one: the higher count where a document is in both."""
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

    What is less than the `count` largest of a few cannot be one of them: so most need no sorting.
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
