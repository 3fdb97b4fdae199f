"""The topics of memories: their search contexts, the keys that belong to them, how they are named."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from thoughtcycle.mind.language.detect import detect_language
from thoughtcycle.mind.language.fold import Folded, fold, fold_word
from thoughtcycle.mind.language.patterns import compiled, neutral, vocabulary
from thoughtcycle.mind.language.values import singular, slug, trim, without_article
from thoughtcycle.prompts.loader import LANGUAGES, Language, word_lists

EVERYTHING, LAST = "*", "@last"
"""Search contexts for all that is known, and for the last thing told in this chat."""
_WORD = re.compile(r"[^\W\d_][^\W_]+")
_NAME_AFTER = re.compile(r" (\w+)")
_CLOSE_KIN = (
    ("mother", "father", "parents"),
    ("son", "daughter", "children"),
    ("husband", "wife", "spouse"),
    ("sister", "brother", "siblings"),
)
"""Kin under whose keys the same person may have been told."""


@dataclass(frozen=True)
class About:
    """What a phrase is about: search contexts, and key prefixes when the topic is known."""

    contexts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def __add__(self, other: "About") -> "About":
        return About(
            tuple(dict.fromkeys(self.contexts + other.contexts)), tuple(dict.fromkeys(self.keys + other.keys))
        )


@dataclass(frozen=True)
class _Topic:
    name: str
    context: str
    keys: tuple[str, ...]
    """Key prefixes that answer a question about it: wide."""
    erases: tuple[str, ...]
    """Key prefixes to erase when it is to be forgotten: narrow."""
    nouns: re.Pattern[str]
    things: re.Pattern[str] | None
    """Single things of the topic ("consulta"); to forget one leaves the others."""
    verbs: re.Pattern[str] | None


@cache
def _topics(language: Language) -> tuple[_Topic, ...]:
    def build(entry: Mapping[str, Any]) -> _Topic:
        def words(name: str) -> re.Pattern[str] | None:
            return compiled(rf"\b(?:{entry[name]})\b", language) if name in entry else None

        return _Topic(
            name=entry["name"],
            context=entry["context"],
            keys=tuple(entry.get("keys", [entry["name"]])),
            erases=tuple(entry.get("erases", [entry["name"]])),
            nouns=compiled(rf"\b(?:{entry['nouns']})\b", language),
            things=words("things"),
            verbs=words("verbs"),
        )

    return tuple(build(entry) for entry in word_lists(language, "language/topics")["topic"])


@cache
def topic_bindings(topic: str) -> tuple[str, ...]:
    """Short search contexts of a topic in both languages; none for an unknown topic."""
    lists = (word_lists(language, "language/topics")["bindings"].get(topic, []) for language in LANGUAGES)
    return tuple(dict.fromkeys(binding for bindings in lists for binding in bindings))


def topic_context(topic: str, language: Language) -> str:
    """The one search context that names a topic best; the topic itself when it has none."""
    bindings: list[str] = word_lists(language, "language/topics")["bindings"].get(topic, [])
    return bindings[0] if bindings else topic


@cache
def is_food(text: str, language: Language) -> bool:
    """Whether a phrase names something to eat or drink."""
    words = fold_word(text).split()
    food = compiled(vocabulary(language)["food"], language)
    forms = {*words, *(singular(word, language) for word in words), " ".join(words)}
    return any(food.fullmatch(form) for form in forms)


def about(folded: Folded, start: int, end: int, language: Language, *, erase: bool = False) -> About:
    """What a phrase or question names ("minha alimentação", "onde eu moro?").

    With `erase` the keys are those of just that, so that nothing beside it is forgotten.
    """
    if found := _of_category(folded, start, end, language, erase):
        return found
    if found := _of_table(folded, start, end, language):
        debts = next(topic for topic in _topics(language) if topic.name == "money")
        owed = not erase and debts.verbs and debts.verbs.search(folded.text, start, end)
        return found + About((debts.context,), debts.keys) if owed else found
    total = About()
    for topic in _topics(language):
        total += _of_topic(topic, folded, start, end, language, erase)
    return total


def _of_topic(topic: _Topic, folded: Folded, start: int, end: int, language: Language, erase: bool) -> About:
    keys = topic.erases if erase else topic.keys
    if match := topic.nouns.search(folded.text, start, end):
        words = folded.original(*match.span()).lower()
        return About((_with_qualifier(words, folded, match, end, language) if erase else words,), keys)
    if topic.things and (match := topic.things.search(folded.text, start, end)):
        one = (f"{topic.name}:{slug(match[0], language)}",)
        return About((folded.original(*match.span()).lower(),), one if erase else topic.keys)
    if topic.verbs and topic.verbs.search(folded.text, start, end):
        return About((topic.context,), keys)
    return About()


def _with_qualifier(words: str, folded: Folded, match: re.Match[str], end: int, language: Language) -> str:
    """The noun and a name right after it: "projeto Apollo" is not every project."""
    after = _NAME_AFTER.match(folded.text, match.end(), end)
    stop = frozenset(vocabulary(language)["stopwords"])
    if after is None or after[1] in stop:
        return words
    typed = folded.original(*after.span(1))
    return f"{words} {typed}" if typed[:1].isupper() or typed.isdigit() else words


def _of_category(folded: Folded, start: int, end: int, language: Language, erase: bool) -> About | None:
    """A favourite of some category: "minha cor favorita"."""
    pattern = compiled(word_lists(language, "language/topics")["favorite"], language)
    match = pattern.search(folded.text, start, end)
    if match is None:
        return None
    category = match["category"]
    name = neutral(category, "categories", language) or slug(category, language)
    wide = name in ("food", "drink", "dessert", "fruit") and not erase
    keys = (f"favorite:{name}", *(("taste",) if wide else ()))
    return About((folded.original(*match.span()).lower(),), keys)


def _of_table(folded: Folded, start: int, end: int, language: Language) -> About | None:
    """Somebody of the family or a pet: "minha irmã", "meu gato"."""
    for table, prefix in (("kin", "family"), ("pets", "pet")):
        pattern = compiled(r"\b{" + table + r"}\b", language)
        if match := pattern.search(folded.text, start, end):
            name = neutral(match[0], table, language)
            near = [other for group in _CLOSE_KIN if name in group for other in group if other != name]
            keys = (
                f"{prefix}:{name}",
                *(f"{prefix}:{other}" for other in near if _includes(str(name), other)),
            )
            return About((folded.original(*match.span()).lower(),), keys)
    return None


def _includes(name: str, other: str) -> bool:
    """Whether who asks for `name` may mean `other`: children are sons and daughters, not the reverse."""
    return name in ("parents", "children", "siblings") or other == "spouse"


def fallback(folded: Folded, start: int, end: int, language: Language) -> About:
    """What an unknown phrase is about: itself, and likes and allergies when it names food."""
    start, end = without_article(folded, *trim(folded, start, end), language)
    words = " ".join(folded.original(start, end).split())[:80]
    if not words:
        return About()
    short = slug(words, language)
    keys = (f"taste:{short}", f"allergy:{short}", f"diet:{short}") if is_food(words, language) else ()
    return About((words,), keys)


def topics_of(text: str, language: Language) -> tuple[str, ...]:
    """At most three short search contexts of a message: known topics, then names, then content words."""
    spoken = detect_language(text, language)
    folded = fold(text, spoken, limit=2_000)
    known = about(folded, 0, len(folded.text), spoken).contexts
    stop = frozenset(vocabulary(spoken)["stopwords"])
    words = [(match.start(), folded.original(*match.span())) for match in _WORD.finditer(folded.text)]
    content = [
        (at, word)
        for at, word in words
        if fold_word(word) not in stop and folded.text[at : at + len(word)] not in stop
    ]
    names = [word for at, word in content if word[:1].isupper() and at > 0]
    plain = [word for _, word in content if len(word) > 2]
    unique: dict[str, str] = {}
    for context in [*known, *names, *sorted(plain, key=len, reverse=True)]:
        unique.setdefault(fold_word(context), context)
    return tuple(unique.values())[:3]
