"""Segment: the postings of many documents, built in one pass and stored as arrays."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from thoughtcycle.memory.text.analyzer import LONGEST_WORD, WORD, forms_of

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
_END = "\0"
"""Separates two documents."""
_WORD_OR_END = re.compile(f"{WORD.pattern}|{_END}")
_AT_ONCE = 2_000
"""Documents that are tokenised together: the interpreter is not held for longer than some milliseconds."""
_COUNT_BITS = 16
_MOST_COUNTED = (1 << _COUNT_BITS) - 1
"""Highest count of a form in one document; more occurrences count as this many."""


@dataclass(frozen=True)
class Segment:
    """Postings sorted by form, and the forms of each document.

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


_STARTS, _NO_INTS, _NO_FLOATS = np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
EMPTY = Segment([], _STARTS, _NO_INTS, _NO_FLOATS, _STARTS, _NO_INTS, _NO_FLOATS)


class _Vocabulary(dict[str, int]):
    """Word → number, assigned in order of appearance."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}
        """Form → number."""
        self.forms: list[tuple[int, ...]] = []
        """Number of a word → numbers of its forms; () for a stop word."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self.forms)
        numbers = self.numbers
        forms = forms_of(word[:LONGEST_WORD])
        self.forms.append(tuple([numbers.setdefault(form, len(numbers)) for form in forms]))
        return number


def build_segment(documents: Iterable[Sequence[str]]) -> Segment:
    """The postings of documents 0, 1, …, each given as its texts.

    Equal to adding one after the other, without a step of the interpreter for each word.
    """
    vocabulary = _Vocabulary()
    words, owners, size = _tokenise(documents, vocabulary)
    each = np.array([len(forms) for forms in vocabulary.forms], np.int64)
    flat = np.fromiter(chain.from_iterable(vocabulary.forms), np.int64)
    indexed = each[words] > 0
    words, owners = words[indexed], owners[indexed]
    lengths = np.bincount(owners, minlength=size).astype(np.float32)
    # Each occurrence of a word once per form: the forms of word w are flat[first[w] : first[w] + each[w]].
    first = np.cumsum(each) - each
    times = each[words]
    offsets = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    forms = flat[np.repeat(first[words], times) + offsets]
    bits = len(vocabulary.numbers).bit_length()
    pairs, counts = np.unique((np.repeat(owners, times) << bits) | forms, return_counts=True)
    return _inverted(list(vocabulary.numbers), pairs, counts, lengths)


def _tokenise(documents: Iterable[Sequence[str]], vocabulary: _Vocabulary) -> tuple[Longs, Longs, int]:
    """The words of all documents as numbers, the document of each, and the number of documents."""
    end = vocabulary[_END]
    numbers, size, rest = [], 0, iter(documents)
    while some := list(islice(rest, _AT_ONCE)):
        size += len(some)
        texts = (" ".join(texts).replace(_END, " ") for texts in some)
        found = _WORD_OR_END.findall(_END.join(texts).casefold() + _END)
        numbers.append(np.fromiter(map(vocabulary.__getitem__, found), np.int64, len(found)))
    every = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
    ends = every == end
    return every[~ends], np.cumsum(ends)[~ends], size


def _inverted(names: list[str], pairs: Longs, counts: Longs, lengths: Floats) -> Segment:
    """Postings of sorted pairs, each a document and, in as many bits as `names` take, a form."""
    bits = len(names).bit_length()
    holders, held = pairs >> bits, pairs & ((1 << bits) - 1)
    # Sorting plain numbers is many times faster than an argsort.
    bits = len(lengths).bit_length()
    packed = np.sort((((held << bits) | holders) << _COUNT_BITS) | np.minimum(counts, _MOST_COUNTED))
    return Segment(
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
