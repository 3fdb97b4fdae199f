"""The meaning of a fact apart from its wording – concepts, polarity, values –, to compare it with another."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from thoughtcycle.language.parse import (
    Entry,
    Folded,
    Lexicon,
    Phrase,
    amounts_in,
    dates_in,
    fold,
    lexicon,
    stem,
    tokens,
)
from thoughtcycle.prompts.loader import Language, word_lists

READ = 600
"""Characters of a fact that are compared; what is longer is a story, not a fact."""
TASTE = ("like", "eat", "drink")
"""Concepts of taste: not liking a thing and not eating it count as the same statement (HM-6)."""
_EPOCH = datetime(2001, 1, 1)
"""Relative days of both sides are resolved against the same day: only whether they are equal counts."""
_HOUR = re.compile(r"\d{1,2}")
_AFTERNOON = re.compile(r"p\.?m\b|\b(?:noite|tarde|evening|afternoon|night)\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_RESOLVED = re.compile(r" \((?:[a-z]+ ){0,2}")
"""Characters between a relative date and the date that it was resolved to."""
_UNIT = re.compile(r"(\d+(?:[.,]\d+)*)([a-z]+)")
_ONE = ("um", "uma", "a", "an", "one")


@dataclass(frozen=True)
class Statement:
    """The concepts, polarity and values of a sentence."""

    concepts: tuple[str, ...]
    """In the order of the words, each once; a word that no list knows stands for itself by its stem."""
    negative: bool = False
    spared: frozenset[str] = frozenset()
    """The concepts outside of a negation ("the one sings and the other does not")."""
    values: frozenset[tuple[str, str]] = frozenset()
    """(type, normalised) of its numbers, dates and times of day."""
    proper: frozenset[str] = frozenset()
    """The concepts that are written as names."""
    ends: bool = False
    """Whether it is worded as the end of something."""
    changes: bool = False
    """Whether it is worded as a change."""
    wide: bool = False
    """Whether one word of it stands for a whole sentence ("vegetarian")."""

    @property
    def set(self) -> frozenset[str]:
        """The concepts without their order; negated, all ways of taste are one."""
        if not self.negative:
            return frozenset(self.concepts)
        return frozenset("consume" if each in TASTE else each for each in self.concepts)


@dataclass(frozen=True)
class _Word:
    word: str
    proper: bool = False
    value: tuple[str, str] | None = None


@dataclass
class _Segment:
    """A part of a sentence up to "and", a comma or the like: as far as a negation reaches."""

    concepts: list[str] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)

    @property
    def negative(self) -> bool:
        """Negators of one kind agree ("não há nenhum"), those of two kinds cancel each other out."""
        return bool(len(self.marks) % 2)


def parse_statement(text: str, language: Language) -> Statement:
    """Parses the first 600 characters of `text` into a statement; pure, linear in its length."""
    return _statement(text[:READ], language)


@lru_cache(maxsize=4_096)
def _statement(text: str, language: Language) -> Statement:
    return _Reader(tuple(_words(text, language)), lexicon(language), language).read()


def _words(text: str, language: Language) -> Iterator[_Word]:
    """The words of a text; each number, date and time of day as one."""
    folded = fold(text, language, READ)
    numbers = word_lists(language, "language/dates")["numbers"]
    found = sorted(_values(folded, language), key=lambda item: (item[0], -item[1]))
    place, done, first = 0, 0, True
    for token, start, end in tokens(folded, language):
        while place < len(found) and found[place][0] < end:
            _, until, value = found[place]
            place += 1
            resolved = place < len(found) and _RESOLVED.fullmatch(folded.text, until, found[place][0])
            if until > done and not resolved:
                yield _Word("", value=value)
                done = until
        if start < done:
            continue
        if (token in numbers and token not in _ONE) or _NUMBER.fullmatch(token):
            yield _Word("", value=("number", str(numbers.get(token, _plain(token)))))
        elif unit := _UNIT.fullmatch(token):
            yield _Word("", value=("number", _plain(unit[1])))
            yield _Word(unit[2])
        else:
            typed = folded.original(start, end)
            yield _Word(token, proper=not first and typed[:1].isupper())
        first = not token[0].isalnum()


def _plain(number: str) -> str:
    """Digits without separators of thousands, with a full stop for the decimals."""
    whole = re.sub(r"[.,](?=\d{3}(?!\d))", "", number)
    return whole.replace(",", ".")


def _values(folded: Folded, language: Language) -> Iterator[tuple[int, int, tuple[str, str]]]:
    for amount in amounts_in(folded, language):
        yield amount.start, amount.end, ("number", f"{amount.value:g}")
    for mention in dates_in(folded, language, _EPOCH):
        if mention.value:
            yield mention.start, mention.end, ("date", mention.value)
        elif hour := _HOUR.search(mention.words):
            late = _AFTERNOON.search(folded.text, mention.start, mention.end + 12) is not None
            yield mention.start, mention.end, ("time", str(int(hour[0]) % 12 + 12 if late else int(hour[0])))


class _Reader:
    """Reads the words of one text."""

    def __init__(self, words: tuple[_Word, ...], known: Lexicon, language: Language) -> None:
        self.words, self.known = words, known
        self.language: Language = language
        self.segments = [_Segment()]
        self.values: set[tuple[str, str]] = set()
        self.proper: set[str] = set()
        self.ends = self.changes = self.wide = self.compares = False

    def read(self) -> Statement:
        """The statement that the words make."""
        at = 0
        while at < len(self.words):
            at += self._step(at)
        negative = [each for each in self.segments if each.negative]
        spared = [each for each in self.segments if not each.negative] if negative else []
        named = (name for each in self.segments for name in each.concepts)
        concepts = dict.fromkeys("prefer" if self.compares and name == "like" else name for name in named)
        return Statement(
            concepts=tuple(concepts),
            negative=bool(negative),
            spared=frozenset(name for each in spared for name in each.concepts),
            values=frozenset(self.values),
            proper=frozenset(self.proper),
            ends=self.ends,
            changes=self.changes,
            wide=self.wide,
        )

    def _step(self, at: int) -> int:
        """Reads the word or phrase at a place; how many words it has."""
        word = self.words[at]
        if word.value is not None:
            self.values.add(word.value)
            return 1
        if word.word in self.known.joins:
            self.segments.append(_Segment())
            return 1
        size, entry = next(self._entries(at), (1, None))
        phrase = self._phrase(at, size)
        self.ends |= entry is not None and entry.role == "ended"
        self.changes |= phrase in self.known.changed
        self._take(word, entry)
        return size

    def _entries(self, at: int) -> Iterator[tuple[int, Entry]]:
        """The entries that begin at a place, the longest first."""
        longest = self.known.longest(self.words[at].word, self.language)
        for size in range(longest, 0, -1):
            phrase = self._phrase(at, size)
            entry = self.known.entry(phrase, self.language) if phrase else None
            if entry and not (entry.role == "means" and size > 1 and self._goes_on(at + size)):
                yield size, entry

    def _goes_on(self, at: int) -> bool:
        """ "Doesn't drink" by itself means alcohol; "doesn't drink milk" does not."""
        return at < len(self.words) and self.words[at].word not in self.known.joins

    def _phrase(self, at: int, size: int) -> Phrase:
        piece = self.words[at : at + size]
        whole = len(piece) == size and all(each.value is None for each in piece)
        return tuple(each.word for each in piece) if whole else ()

    def _take(self, word: _Word, entry: Entry | None) -> None:
        segment = self.segments[-1]
        if entry is None:
            if word.word[:1].isalnum():
                self._add(stem(word.word, self.language), word)
        elif entry.role == "concept":
            if entry.opposite:
                segment.marks ^= {"opposite"}
            self._add(entry.concept, word)
        elif entry.role in ("negator", "ended"):
            segment.marks.add(entry.role)
        elif entry.role == "compares":
            self.compares = True
        elif entry.role == "means":
            self.wide = True
            inner = _Reader(tuple(map(_Word, entry.means)), self.known, self.language).read()
            segment.marks ^= {"means"} if inner.negative else set()
            segment.concepts += inner.concepts

    def _add(self, concept: str, word: _Word) -> None:
        self.segments[-1].concepts.append(concept)
        if word.proper:
            self.proper.add(concept)
