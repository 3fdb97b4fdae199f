"""Everyday words by what they mean: synonyms, kinds, opposites, negation (`language/synonyms.toml`)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

import Stemmer

from thoughtcycle.language.parse.folding import Folded, fold
from thoughtcycle.prompts.loader import Language, word_lists

_SHORT = 4
"""Letters of a word without meaning of its own up to which it counts only as it stands."""
Phrase = tuple[str, ...]
Role = Literal["light", "concept", "negator", "ended", "again", "compares", "means"]

_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*(?![^\W_]|[./@:+']+[^\W_])|[^\W_]+(?:[./@:+'-]+[^\W_]+)*|[,;.!?\n]")
_LISTED = re.compile(r'"([^"]+)"|(\S+)')
_WORD_SETS = ("joins", "functional", "generic", "filler", "support", "attitudes", "ordered")
_STEMMERS: Mapping[Language, str] = {"pt": "portuguese", "en": "english"}


@dataclass(frozen=True)
class Entry:
    """The role of a word or phrase in a sentence."""

    role: Role
    concept: str = ""
    opposite: bool = False
    """Whether it means the opposite of the concept ("hate")."""
    means: Phrase = ()
    """The words that it stands for ("vegetarian")."""


@dataclass(frozen=True)
class Lexicon:
    """The word lists of a language."""

    exact: Mapping[Phrase, Entry]
    stems: Mapping[Phrase, Entry]
    reach: Mapping[str, int]
    """First word of phrases, or its stem → words of the longest of them."""
    kinds: Mapping[str, frozenset[str]]
    """Concept → the broader ones that cover it."""
    opposites: frozenset[frozenset[str]]
    joins: frozenset[str]
    """Words and signs at which a negation ends."""
    changed: frozenset[Phrase]
    kin: frozenset[str]
    functional: frozenset[str]
    generic: frozenset[str]
    filler: frozenset[str]
    """Concepts that a value beside them makes needless ("is 34", "is 34 years old")."""
    support: frozenset[str]
    """Verbs that add nothing to their object ("uses glasses")."""
    attitudes: frozenset[str]
    """Concepts of which the general case says more ("likes fruit"); elsewhere the single one does."""
    ordered: frozenset[str]

    def longest(self, word: str, language: Language) -> int:
        """Words of the longest phrase that may begin with a word."""
        return max(self.reach.get(word, 1), self.reach.get(stem(word, language), 1))

    def entry(self, words: Phrase, language: Language) -> Entry | None:
        """The entry of a phrase: as it stands, else by its stems."""
        return self.exact.get(words) or self.stems.get(stems(words, language))


@lru_cache(maxsize=16_384)
def stem(word: str, language: Language) -> str:
    """The Snowball stem of a folded word."""
    return str(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: Language) -> Any:
    return Stemmer.Stemmer(_STEMMERS[language])


def stems(words: Phrase, language: Language) -> Phrase:
    """The stems of a phrase; beside others a short word stays as it is ("como" is not "com")."""
    if len(words) == 1:
        return (stem(words[0], language),)
    return tuple(stem(word, language) if len(word) > _SHORT else word for word in words)


def tokens(folded: Folded, language: Language) -> Iterator[tuple[str, int, int]]:
    """The folded words and signs of a text and where they stand; "é" keeps its accent, unlike "e"."""
    for match in _TOKEN.finditer(folded.text):
        token = match[0].removesuffix("'s" if language == "en" else "-se")
        if token == "e" and folded.original(*match.span()) in ("é", "É"):
            token = "é"
        yield token, match.start(), match.end()


def phrase(text: str, language: Language) -> Phrase:
    """The words of an entry of the lists."""
    return tuple(token for token, _, _ in tokens(fold(text, language), language))


def _listed(text: str, language: Language) -> Iterator[Phrase]:
    for match in _LISTED.finditer(text):
        yield phrase(match[1] or match[2], language)


def _forms(words: Phrase, endings: Mapping[str, list[str]]) -> Iterator[Phrase]:
    """The regular forms of a phrase that begins with a verb."""
    for ending, others in endings.items():
        if words[0].endswith(ending) and len(words[0]) > len(ending) + 1:
            for other in others:
                yield (words[0].removesuffix(ending) + other, *words[1:])


@cache
def lexicon(language: Language) -> Lexicon:
    """The lexicon of a language."""
    data = word_lists(language, "language/synonyms")
    exact = dict(_entries(data, language))
    endings = data["endings"]
    for words, entry in list(exact.items()):
        for form in _forms(words, endings):
            exact.setdefault(form, entry)
    by_stems: dict[Phrase, Entry] = {}
    for words, entry in exact.items():
        if entry.role not in ("light", "negator"):  # "sabe" is not "sábado": these count as they stand
            by_stems.setdefault(stems(words, language), entry)

    def concept(word: str) -> str:
        words = phrase(word, language)
        entry = exact.get(words) or by_stems.get(stems(words, language))
        return entry.concept if entry and entry.concept else " ".join(stems(words, language))

    kinds: dict[str, frozenset[str]] = {}
    for broad, narrower in data["kinds"].items():
        for narrow in narrower:
            name = concept(narrow)
            kinds[name] = kinds.get(name, frozenset()) | {broad}
            by_stems.setdefault(stems(phrase(narrow, language), language), Entry("concept", name))
    reach: dict[str, int] = {}
    for words in (*exact, *by_stems):
        reach[words[0]] = max(len(words), reach.get(words[0], 1))
    return Lexicon(
        reach=reach,
        exact=exact,
        stems=by_stems,
        kinds=kinds,
        opposites=frozenset(frozenset(map(concept, pair)) for pair in data["opposites"]),
        changed=frozenset(_listed(data["changed"], language)),
        kin=frozenset(map(concept, data["kin"].split())),
        **{name: frozenset(data[name].split()) for name in _WORD_SETS},
    )


def _entries(data: Mapping[str, Any], language: Language) -> Iterator[tuple[Phrase, Entry]]:
    """Every entry; one that comes later holds."""
    for words in _listed(data["changed"], language):
        yield words, Entry("light")
    for words in _listed(data["light"], language):
        yield words, Entry("light")
    roles: tuple[Role, ...] = ("again", "compares", "ended", "negator")
    for role in roles:
        for words in _listed(data[role], language):
            yield words, Entry(role)
    for opposite, table in ((False, "groups"), (True, "negative")):
        for concept, listed in data[table].items():
            for word in listed:
                yield phrase(word, language), Entry("concept", concept, opposite)
    for word, text in data["means"].items():
        yield phrase(word, language), Entry("means", means=phrase(text, language))
