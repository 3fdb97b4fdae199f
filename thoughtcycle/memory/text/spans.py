"""Offsets of words, sentences and clauses in a text; words match whatever their case and accents (pure)."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from unicodedata import category, normalize

from thoughtcycle.memory.text.analyzer import fold

_WORD = re.compile(r"[^\W_]+")
_NO_WORD = re.compile(r"[\W_]+")
_NO_WORD_BYTES = bytes(code for code in range(128) if not chr(code).isalnum())
_HYPHENS = ("-", "\u2010", "\u2011")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_CLAUSE = re.compile(r"(?<=[,;:()])\s+|\s+[–—-]\s+")

HIDDEN = "[…]"
"""Replaces words that are hidden or erased."""
Span = tuple[int, int]
"""Offsets of the first character and of the one after the last."""


def is_blank(text: str) -> bool:
    """Whether nothing is left of a text but blots."""
    return HIDDEN in text and not any(char.isalnum() for char in text.replace(HIDDEN, ""))


@lru_cache(maxsize=4_096)
def _fold_character(character: str) -> str:
    """Nothing for one that is not seen, such as a soft hyphen: it parts no word."""
    return "" if category(character) == "Cf" else fold(character)


@dataclass(frozen=True)
class Tokens:
    """The folded words of a text."""

    text: str
    words: tuple[str, ...]
    spans: tuple[Span, ...]
    """Of each word in `text`, combining marks included."""

    @cached_property
    def joined(self) -> str:
        """The words with one space before, between and after them."""
        return f" {' '.join(self.words)} "

    @cached_property
    def compounds(self) -> tuple[tuple[int, int, str], ...]:
        """Words in a row with only hyphens between them: the first, the last, all as one word."""
        if not any(hyphen in self.text for hyphen in _HYPHENS):
            return ()
        gaps = (self.text[one[1] : two[0]] for one, two in pairwise(self.spans))
        tied = [gap in _HYPHENS for gap in gaps]
        found = []
        for first in range(len(tied)):
            last = first
            while last < len(tied) and tied[last]:
                last += 1
                found.append((first, last, "".join(self.words[first : last + 1])))
        return tuple(found)

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(word) + 1 for word in self.words), initial=1))

    def find(self, phrase: str) -> Iterator[Span]:
        """The spans of `phrase` (see `key`), as whole words in a row."""
        place = self.joined.find(phrase) if phrase.strip() else -1
        while place >= 0:
            first = bisect_right(self._starts, place + 1) - 1
            last = bisect_right(self._starts, place + len(phrase) - 2) - 1
            yield self.spans[first][0], self.spans[last][1]
            place = self.joined.find(phrase, place + 1)


def tokens(text: str) -> Tokens:
    """The words of `text`, in lower case and without accents; `_` parts words as a blank does."""
    at: Sequence[int] = range(len(text) + 1)
    folded = text.lower()
    if not text.isascii():
        pieces = [_fold_character(character) for character in text]
        folded = "".join(pieces)
        at = [*(place for place, piece in enumerate(pieces) for _ in piece), len(text)]
    found = list(_WORD.finditer(folded))
    spans = tuple((at[one.start()], _end(at, one.end())) for one in found)
    return Tokens(text, tuple(one[0] for one in found), spans)


def squeezed(text: str) -> str:
    """The words of `tokens(text)` without anything between them, many times faster."""
    if text.isascii():
        return text.lower().encode().translate(None, _NO_WORD_BYTES).decode()
    return _NO_WORD.sub("", normalize("NFKD", text.casefold()))


def _end(at: Sequence[int], end: int) -> int:
    """The place after a word's last character; a mark that folding dropped belongs to it."""
    return max(at[end], at[end - 1] + 1)


def key(text: str) -> str:
    """`text` as a phrase for `Tokens.find`; blank when it has no word."""
    return tokens(text).joined


def literal(text: str, wanted: str) -> Iterator[Span]:
    """The spans of `wanted`, which has no word (an emoji), in `text`."""
    place = text.find(wanted) if wanted.strip() else -1
    while place >= 0:
        yield place, place + len(wanted)
        place = text.find(wanted, place + len(wanted))


def sentences(text: str) -> list[Span]:
    """The sentences of `text`; a line break ends one."""
    return _pieces(_SENTENCE, text, (0, len(text)))


def clauses(text: str, sentence: Span) -> list[Span]:
    """The parts of a sentence between commas, colons, brackets and dashes."""
    return _pieces(_CLAUSE, text, sentence)


def _pieces(boundary: re.Pattern[str], text: str, span: Span) -> list[Span]:
    found = []
    start, end = span
    for match in boundary.finditer(text, start, end):
        found.append((start, match.start()))
        start = match.end()
    return [piece for piece in (*found, (start, end)) if text[slice(*piece)].strip()]


def replaced(text: str, spans: Iterable[Span], mark: str) -> str:
    """`text` with `mark` for each of `spans`; what overlaps, or is parted by spaces only, is one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and (start <= merged[-1][1] or not text[merged[-1][1] : start].strip()):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    parts, at = [], 0
    for start, end in merged:
        parts += [text[at:start], mark]
        at = end
    return "".join((*parts, text[at:]))
