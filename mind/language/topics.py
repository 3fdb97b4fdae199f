"""The topics a memory can be about: their search contexts, the keys that belong to them, and how they are named."""

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

EVERYTHING = "*"
_WORD = re.compile(r"[^\W\d_][^\W_]+")


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
    nouns: re.Pattern[str]
    verbs: re.Pattern[str] | None


@cache
def _topics(language: Language) -> tuple[_Topic, ...]:
    def build(entry: Mapping[str, Any]) -> _Topic:
        verbs = entry.get("verbs")
        return _Topic(
            name=entry["name"],
            context=entry["context"],
            keys=tuple(entry.get("keys", [entry["name"]])),
            nouns=compiled(rf"\b(?:{entry['nouns']})\b", language),
            verbs=compiled(rf"\b(?:{verbs})\b", language) if verbs else None,
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


def about(folded: Folded, start: int, end: int, language: Language, *, verbs: bool = False) -> About:
    """What a noun phrase is about; with `verbs`, what a question is about ("onde eu moro?")."""
    text = folded.text[start:end]
    found = _of_category(folded, start, end, language) or _of_table(folded, start, end, language)
    if found:
        return found
    total = About()
    for topic in _topics(language):
        if match := topic.nouns.search(text):
            words = folded.original(start + match.start(), start + match.end()).lower()
            total += About((words,), topic.keys)
        elif verbs and topic.verbs and topic.verbs.search(text):
            total += About((topic.context,), topic.keys)
    return total


def _of_category(folded: Folded, start: int, end: int, language: Language) -> About | None:
    """ "Minha cor favorita"."""
    pattern = compiled(word_lists(language, "language/topics")["favorite"], language)
    match = pattern.search(folded.text, start, end)
    if match is None:
        return None
    category = match["category"]
    name = neutral(category, "categories", language) or slug(category, language)
    keys = (
        (f"favorite:{name}", "taste")
        if name in ("food", "drink", "dessert", "fruit")
        else (f"favorite:{name}",)
    )
    return About((folded.original(*match.span()).lower(),), keys)


def _of_table(folded: Folded, start: int, end: int, language: Language) -> About | None:
    """ "Minha irmã", "meu gato"."""
    for table, prefix in (("kin", "family"), ("pets", "pet")):
        pattern = compiled(r"\b{" + table + r"}\b", language)
        if match := pattern.search(folded.text, start, end):
            name = neutral(match[0], table, language)
            keys = (f"{prefix}:{name}",)
            if name in ("mother", "father", "parents", "son", "daughter", "children", "husband", "wife"):
                keys = (*keys, *_close_kin(str(name)))
            return About((folded.original(*match.span()).lower(),), keys)
    return None


def _close_kin(name: str) -> tuple[str, ...]:
    """Keys under which the same person may have been told."""
    groups = (("mother", "father", "parents"), ("son", "daughter", "children"), ("husband", "wife", "spouse"))
    return tuple(f"family:{other}" for group in groups if name in group for other in group if other != name)


def fallback(folded: Folded, start: int, end: int, language: Language) -> About:
    """What an unknown phrase is about: itself, and likes and allergies when it names food."""
    start, end = without_article(folded, *trim(folded, start, end), language)
    words = " ".join(folded.original(start, end).split())[:80]
    if not words:
        return About()
    short = slug(words, language)
    keys = (f"taste:{short}", f"allergy:{short}") if is_food(words, language) else ()
    return About((words,), keys)


def topics_of(text: str, language: Language) -> tuple[str, ...]:
    """At most three short search contexts of any message: known topics first, then names, then content words."""
    spoken = detect_language(text, language)
    folded = fold(text, spoken, limit=2_000)
    known = about(folded, 0, len(folded.text), spoken, verbs=True).contexts
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
