"""A fact as what it says, apart from its wording: concepts, polarity, values – the ground for comparing two."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

import Stemmer

from thoughtcycle.mind.language.dates import amounts, mentions
from thoughtcycle.mind.language.fold import Folded, fold
from thoughtcycle.prompts.loader import Language, word_lists

READ = 600
"""Characters of a fact that are compared; what is longer is a story, not a fact."""
_LONGEST = 6
"""Words of a phrase in the lists."""
_EPOCH = datetime(2001, 1, 1)
"""Relative days of both sides are resolved against the same day: only whether they are equal counts."""
_TOKEN = re.compile(r"[^\W_]+(?:[./@:+'-]+[^\W_]+)*|[,;.!?\n]")
_PHRASE = re.compile(r'"([^"]+)"|(\S+)')
_HOUR = re.compile(r"\d{1,2}")
_AFTERNOON = re.compile(r"pm|p\.m|noite|tarde|evening|afternoon|night")
_NAMES = {"pt": "portuguese", "en": "english"}


@dataclass(frozen=True)
class Statement:
    """What a sentence says."""

    concepts: tuple[str, ...]
    """In the order of the words, each once; a word that no list knows stands for itself by its stem."""
    negative: bool
    values: frozenset[tuple[str, str]] = frozenset()
    """(type, normalised) of its numbers, dates and times of day."""
    proper: frozenset[str] = frozenset()
    """Those of the concepts that are written as names."""
    ends: bool = False
    """Whether it says that something is over."""
    changes: bool = False
    """Whether it is worded as a change."""

    @property
    def set(self) -> frozenset[str]:
        """The concepts without their order."""
        return frozenset(self.concepts)


@dataclass(frozen=True)
class Lexicon:
    """The word lists of a language by stems."""

    phrases: Mapping[tuple[str, ...], str]
    """Phrase → its concept; a leading `-` says that it means the opposite; empty: it says nothing."""
    means: Mapping[tuple[str, ...], tuple[str, ...]]
    kinds: Mapping[str, frozenset[str]]
    """Concept → the broader ones that cover it."""
    opposites: frozenset[frozenset[str]]
    negators: frozenset[tuple[str, ...]]
    ended: frozenset[tuple[str, ...]]
    again: frozenset[tuple[str, ...]]
    changed: frozenset[tuple[str, ...]]
    over: frozenset[tuple[str, ...]]
    kin: frozenset[str]
    functional: frozenset[str]
    generic: frozenset[str]
    ordered: frozenset[str]


@cache
def _stemmer(language: Language) -> Any:
    return Stemmer.Stemmer(_NAMES[language])


@lru_cache(maxsize=16_384)
def _stem(word: str, language: Language) -> str:
    stem: str = _stemmer(language).stemWord(word)
    return stem


def _stems(phrase: str, language: Language) -> tuple[str, ...]:
    return tuple(_stem(match[0], language) for match in _TOKEN.finditer(fold(phrase, language).text))


def _phrases(text: str, language: Language) -> Iterator[tuple[str, ...]]:
    """The words and quoted phrases of a list, stemmed."""
    for match in _PHRASE.finditer(text):
        yield _stems(match[1] or match[2], language)


@cache
def lexicon(language: Language) -> Lexicon:
    """The word lists of `language/synonyms.toml`."""
    data = word_lists(language, "language/synonyms")
    phrases: dict[tuple[str, ...], str] = dict.fromkeys(_phrases(data["light"], language), "")
    for mark, table in (("", data["groups"]), ("-", data["negative"])):
        for concept, words in table.items():
            phrases.update(dict.fromkeys((_stems(word, language) for word in words), mark + concept))

    def concept(word: str) -> str:
        stems = _stems(word, language)
        return phrases.get(stems) or " ".join(stems)

    kinds: dict[str, frozenset[str]] = {}
    for broad, words in data["kinds"].items():
        for narrow in map(concept, words):
            kinds[narrow] = kinds.get(narrow, frozenset()) | {broad}
            phrases.setdefault(_stems(narrow, language), narrow)

    def listed(name: str) -> frozenset[tuple[str, ...]]:
        return frozenset(_phrases(data[name], language))

    return Lexicon(
        phrases=phrases,
        means={_stems(word, language): _stems(text, language) for word, text in data["means"].items()},
        kinds=kinds,
        opposites=frozenset(frozenset(map(concept, pair)) for pair in data["opposites"].values()),
        negators=listed("negators"),
        ended=listed("ended"),
        again=listed("again"),
        changed=listed("changed"),
        over=listed("over"),
        kin=frozenset(map(concept, data["kin"].split())),
        functional=frozenset(data["functional"].split()),
        generic=frozenset(data["generic"].split()),
        ordered=frozenset(data["ordered"].split()),
    )


@dataclass(frozen=True)
class _Word:
    stem: str
    proper: bool = False
    value: tuple[str, str] | None = None


def _values(folded: Folded, language: Language) -> Iterator[tuple[int, int, tuple[str, str]]]:
    for amount in amounts(folded, language):
        yield amount.start, amount.end, ("number", f"{amount.value:g}")
    for mention in mentions(folded, language, _EPOCH):
        if mention.value:
            yield mention.start, mention.end, ("date", mention.value)
        elif hour := _HOUR.search(mention.words):
            later = 12 * (_AFTERNOON.search(folded.text, mention.start, mention.end + 10) is not None)
            yield mention.start, mention.end, ("time", str(int(hour[0]) % 12 + later if later else int(hour[0])))


def _words(text: str, language: Language) -> Iterator[_Word]:
    """The words of a text, its dates and amounts each as one."""
    folded = fold(text, language, READ)
    numbers = word_lists(language, "language/dates")["numbers"]
    found = sorted(_values(folded, language), key=lambda item: (item[0], -item[1]))
    done, first = 0, True
    for match in _TOKEN.finditer(folded.text):
        while found and found[0][0] < done:
            found.pop(0)
        if found and match.end() > found[0][0]:
            _, end, value = found.pop(0)
            yield _Word("", value=value)
            done = max(done, end)
        if match.start() < done:
            continue
        token = match[0]
        if token.isdigit() or (token in numbers and len(token) > 2 and token not in ("uma", "one")):
            yield _Word("", value=("number", str(numbers.get(token, token))))
        elif token[0].isalnum():
            typed = folded.original(match.start(), match.end())
            yield _Word(_stem(token, language), proper=not first and typed[:1].isupper())
        else:
            yield _Word(token)
        first = not token[0].isalnum()


@lru_cache(maxsize=4096)
def statement(text: str, language: Language) -> Statement:
    """What `text` says; pure, linear in its length, of which the first 600 characters are read."""
    return _read(tuple(_words(text, language)), lexicon(language))


def _read(words: tuple[_Word, ...], known: Lexicon) -> Statement:
    concepts: dict[str, bool] = {}
    values: set[tuple[str, str]] = set()
    flips, at, ends, changes = 0, 0, False, False
    while at < len(words):
        word = words[at]
        if word.value is not None:
            values.add(word.value)
            at += 1
            continue
        size = next((n for n in range(_LONGEST, 0, -1) if _known(words, at, n, known)), 1)
        stems = _at(words, at, size)
        ends |= stems in known.over
        changes |= stems in known.changed
        if stems in known.means:
            inner = _read(tuple(map(_Word, known.means[stems])), known)
            concepts.update(dict.fromkeys(inner.concepts, False))
            flips += inner.negative
        elif stems in known.ended or stems in known.negators:
            flips += 1
        elif not _marks_only(stems, known) and word.stem[:1].isalnum():
            concept = known.phrases.get(stems, " ".join(stems))
            flips += concept.startswith("-")
            if concept:
                concepts.setdefault(concept.lstrip("-"), word.proper and size == 1)
        at += size
    names = tuple(concepts)
    negative = bool(flips % 2)
    if negative:
        names = tuple(dict.fromkeys("consume" if name in ("like", "eat", "drink") else name for name in names))
    proper = frozenset(name for name, is_name in concepts.items() if is_name)
    return Statement(names, negative, frozenset(values), proper, ends, changes)


def _at(words: tuple[_Word, ...], at: int, size: int) -> tuple[str, ...]:
    piece = words[at : at + size]
    return tuple(word.stem for word in piece) if all(word.value is None for word in piece) else ()


def _known(words: tuple[_Word, ...], at: int, size: int, known: Lexicon) -> bool:
    """Whether a list has the phrase of `size` words that begins at `at`."""
    stems = _at(words, at, size)
    if len(stems) < size:
        return False
    if stems in known.means:
        # "Doesn't drink" by itself means alcohol; "doesn't drink milk" does not.
        return stems[:1] not in known.negators or at + size == len(words) or not words[at + size].stem[:1].isalnum()
    tables: Iterable[Any] = (known.phrases, known.negators, known.ended, known.again, known.over, known.changed)
    return any(stems in table for table in tables)


def _marks_only(stems: tuple[str, ...], known: Lexicon) -> bool:
    """Whether a phrase says only that something begins again, changes or is over."""
    return stems not in known.phrases and any(
        stems in table for table in (known.again, known.changed, known.over)
    )
