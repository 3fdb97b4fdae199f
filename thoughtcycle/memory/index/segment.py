"""Postings of many documents at once, as arrays: how an index is built from nothing, and kept."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from thoughtcycle.memory.text import LONGEST_WORD, WORD, forms_of

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
_END = "\0"
"""Stands between two documents."""
_WORD_OR_END = re.compile(f"{WORD.pattern}|{_END}")
_AT_ONCE = 2_000
"""Documents that are read in one go: the interpreter is not held for longer than some milliseconds."""
_COUNT_BITS = 16
_MOST_COUNTED = (1 << _COUNT_BITS) - 1
"""A form that one document holds more often counts as if it did so this often."""


@dataclass(frozen=True)
class Settled:
    """Which documents hold which form how often, sorted by form; and which forms a document holds.

    The slice `starts[n] : starts[n + 1]` of `documents` and `counts` belongs to the form `names[n]`; the
    slice `places[d] : places[d + 1]` of `forms` to the document `d`.
    """

    names: list[str]
    starts: Longs
    documents: Ints
    counts: Floats
    places: Longs
    forms: Ints
    lengths: Floats
    """Words of each document."""

    @property
    def nbytes(self) -> int:
        """Memory of the arrays and, about, of the names."""
        arrays = (self.starts, self.documents, self.counts, self.places, self.forms, self.lengths)
        return sum(array.nbytes for array in arrays) + 150 * len(self.names)


class _Table(dict[str, int]):
    """Words → their numbers, given as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}
        """Form → number."""
        self.forms: list[tuple[int, ...]] = []
        """Of the word of each number; () for a word that says nothing."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self.forms)
        numbers = self.numbers
        forms = forms_of(word[:LONGEST_WORD])
        self.forms.append(tuple([numbers.setdefault(form, len(numbers)) for form in forms]))
        return number


def settle(documents: Iterable[Sequence[str]]) -> Settled:
    """The postings of documents 0, 1, …, each given as its texts.

    Equal to adding one after the other, without a step of the interpreter for each word.
    """
    table = _Table()
    said, owners, size = _said(documents, table)
    each = np.array([len(forms) for forms in table.forms], np.int64)
    flat = np.fromiter(chain.from_iterable(table.forms), np.int64)
    kept = each[said] > 0
    said, owners = said[kept], owners[kept]
    lengths = np.bincount(owners, minlength=size).astype(np.float32)
    # Each said word once per form: the forms of word w are flat[first[w] : first[w] + each[w]].
    first = np.cumsum(each) - each
    times = each[said]
    offsets = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    forms = flat[np.repeat(first[said], times) + offsets]
    bits = len(table.numbers).bit_length()
    pairs, counts = np.unique((np.repeat(owners, times) << bits) | forms, return_counts=True)
    return _arranged(list(table.numbers), pairs, counts, lengths)


def _said(documents: Iterable[Sequence[str]], table: _Table) -> tuple[Longs, Longs, int]:
    """The words of all documents as numbers, the document of each, and how many documents there are."""
    end = table[_END]
    numbers, size, rest = [], 0, iter(documents)
    while some := list(islice(rest, _AT_ONCE)):
        size += len(some)
        texts = (" ".join(texts).replace(_END, " ") for texts in some)
        found = _WORD_OR_END.findall(_END.join(texts).casefold() + _END)
        numbers.append(np.fromiter(map(table.__getitem__, found), np.int64, len(found)))
    every = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
    ends = every == end
    return every[~ends], np.cumsum(ends)[~ends], size


def _arranged(names: list[str], pairs: Longs, counts: Longs, lengths: Floats) -> Settled:
    """Postings of sorted pairs, each a document and, in as many bits as `names` take, a form."""
    bits = len(names).bit_length()
    holders, held = pairs >> bits, pairs & ((1 << bits) - 1)
    # Sorting plain numbers is many times faster than finding out in which order they come.
    bits = len(lengths).bit_length()
    packed = np.sort((((held << bits) | holders) << _COUNT_BITS) | np.minimum(counts, _MOST_COUNTED))
    return Settled(
        names,
        _bounds(packed >> (bits + _COUNT_BITS), len(names)),
        ((packed >> _COUNT_BITS) & ((1 << bits) - 1)).astype(np.int32),
        (packed & _MOST_COUNTED).astype(np.float32),
        _bounds(holders, len(lengths)),
        held.astype(np.int32),
        lengths,
    )


def _bounds(sorted_numbers: Longs, size: int) -> Longs:
    """Where the run of each number begins, and the end of the last."""
    return np.concatenate(([0], np.cumsum(np.bincount(sorted_numbers, minlength=size)))).astype(np.int64)
