"""The topics of memories: their search contexts, the keys that belong to them, how they are named."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from thoughtcycle.language.parse.folding import Folded, detect_language, fold, fold_word
from thoughtcycle.language.parse.patterns import compiled, neutral_name, vocabulary
from thoughtcycle.language.parse.phrases import singular, slug, trim, without_article
from thoughtcycle.prompts.loader import LANGUAGES, Language, word_lists

EVERYTHING, LAST = "*", "@last"
"""Search contexts for all that is known, and for the last thing told in this chat."""
MESSAGE_READ = 2_000
"""Characters of a message in which topics are looked for."""
_WORD = re.compile(r"[^\W\d_][^\W_]+")
_CLOSE_KIN = (
    ("mother", "father", "parents"),
    ("son", "daughter", "children"),
    ("husband", "wife", "spouse"),
    ("sister", "brother", "siblings"),
)
"""Kin under whose keys the same person may have been told."""
_ASPECTS = ("birthday", "age", "diet", "allergy", "health", "home", "work")
"""Topics under which something of somebody is told, at the end of its key."""


@dataclass(frozen=True)
class TopicMatch:
    """The topic of a phrase: search contexts, and key prefixes when the topic is known."""

    contexts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    """The keys under which every memory answers ("my pets"), whatever its words."""

    def __add__(self, other: "TopicMatch") -> "TopicMatch":
        return TopicMatch(
            tuple(dict.fromkeys(self.contexts + other.contexts)),
            tuple(dict.fromkeys(self.keys + other.keys)),
            tuple(dict.fromkeys(self.whole + other.whole)),
        )


@dataclass(frozen=True)
class _Topic:
    name: str
    context: str
    keys: tuple[str, ...]
    """Key prefixes that answer a question about it: wide."""
    erases: tuple[str, ...]
    """Key prefixes to erase when it is to be forgotten: narrow."""
    countable: bool
    """Whether there may be several of it, each a memory of its own."""
    nouns: re.Pattern[str]
    apart: re.Pattern[str] | None
    """Nouns that name one memory each ("placa"): to forget one leaves the others of the topic."""
    things: re.Pattern[str] | None
    """Single things of the topic ("consulta"); to forget one leaves the others."""
    verbs: re.Pattern[str] | None
    states: re.Pattern[str] | None
    """Words for a state: they ask for the topic ("sou dentista?"), but do not name it ("o dentista")."""


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
            countable=entry.get("countable", False),
            nouns=compiled(rf"\b(?:{entry['nouns']})\b", language),
            apart=words("apart"),
            things=words("things"),
            verbs=words("verbs"),
            states=words("states"),
        )

    return tuple(build(entry) for entry in word_lists(language, "language/topics")["topic"])


@lru_cache(maxsize=1_024)
def topic_bindings(topic: str) -> tuple[str, ...]:
    """Short search contexts of a topic in both languages; none for an unknown topic."""
    lists = (word_lists(language, "language/topics")["bindings"].get(topic, []) for language in LANGUAGES)
    return tuple(dict.fromkeys(binding for bindings in lists for binding in bindings))


def topic_context(topic: str, language: Language) -> str:
    """The one search context that names a topic best; the topic itself when it has none."""
    bindings: list[str] = word_lists(language, "language/topics")["bindings"].get(topic, [])
    return bindings[0] if bindings else topic


def additional_topics(words: str, language: Language) -> tuple[str, ...]:
    """Topics that a fact belongs to by its words, besides the one that its rule gives it ("Off to Rome")."""
    folded, told = fold_word(words), word_lists(language, "language/topics")["told"]
    return tuple(name for name, pattern in told.items() if compiled(pattern, language).search(folded))


@lru_cache(maxsize=1_024)
def is_food(text: str, language: Language) -> bool:
    """Whether a phrase names something to eat or drink."""
    words = fold_word(text).split()
    food = compiled(vocabulary(language)["food"], language)
    forms = {*words, *(singular(word, language) for word in words), " ".join(words)}
    return any(food.fullmatch(form) for form in forms)


def match_topics(folded: Folded, start: int, end: int, language: Language) -> TopicMatch:
    """The topics that a phrase or question names ("minha alimentação", "onde eu moro?")."""
    if found := _of_category(folded, start, end, language):
        return found
    if found := _of_table(folded, start, end, language):
        debts = next(topic for topic in _topics(language) if topic.name == "money")
        owed = debts.verbs and debts.verbs.search(folded.text, start, end)
        return found + TopicMatch((debts.context,), debts.keys) if owed else found
    total = TopicMatch()
    for topic in _topics(language):
        total += _of_topic(topic, folded, start, end)
    return total


def _of_topic(topic: _Topic, folded: Folded, start: int, end: int) -> TopicMatch:
    for pattern in (topic.nouns, topic.things):
        if pattern and (match := pattern.search(folded.text, start, end)):
            whole = topic.keys if pattern is topic.nouns else ()
            return TopicMatch((folded.original(*match.span()).lower(),), topic.keys, whole)
    for pattern in (topic.verbs, topic.states):
        if pattern and pattern.search(folded.text, start, end):
            return TopicMatch((topic.context,), topic.keys, topic.keys)
    return TopicMatch()


def _of_category(folded: Folded, start: int, end: int, language: Language) -> TopicMatch | None:
    """A favourite of some category: "minha cor favorita"."""
    if (found := _favorite(folded, start, end, language)) is None:
        return None
    span, name = found
    if not name:
        return TopicMatch((folded.original(*span).lower(),), ("favorite", "taste", "preference"))
    wide = name in ("food", "drink", "dessert", "fruit")
    keys = (f"favorite:{name}", *(("taste",) if wide else ()))
    return TopicMatch((folded.original(*span).lower(),), keys, keys[:1])


def _favorite(folded: Folded, start: int, end: int, language: Language) -> tuple[tuple[int, int], str] | None:
    pattern = compiled(word_lists(language, "language/topics")["favorite"], language)
    match = pattern.search(folded.text, start, end)
    if match is None:
        return None
    category = match["category"]
    if compiled(word_lists(language, "language/topics")["any_category"], language).fullmatch(category):
        return match.span(), ""
    return match.span(), neutral_name(category, "categories", language) or slug(category, language)


def _of_table(folded: Folded, start: int, end: int, language: Language) -> TopicMatch | None:
    """Somebody of the family or a pet: "minha irmã", "meu gato"."""
    found = _somebody(folded, start, end, language)
    if found is None:
        return None
    keys = tuple(dict.fromkeys(key for each in found[1] for key in answering_keys(each)))
    return TopicMatch((folded.original(*found[0]).lower(),), keys, keys)


def _somebody(
    folded: Folded, start: int, end: int, language: Language
) -> tuple[tuple[int, int], tuple[str, ...]] | None:
    for table, prefix in (("kin", "family"), ("pets", "pet")):
        pattern = compiled(r"\b{" + table + r"}\b", language)
        if match := pattern.search(folded.text, start, end):
            known = equivalent_keys(f"{prefix}:{neutral_name(match[0], table, language)}")
            role = compiled("{role}", language).fullmatch(match[0])
            return match.span(), (*known, f"person:{slug(match[0], language)}") if role else known
    return None


def equivalent_keys(key: str) -> tuple[str, ...]:
    """The keys under which may be told what is asked by `key`: of a pet any, of a husband the spouse."""
    prefix, _, name = key.partition(":")
    if key == "pet:pet":
        return ("pet",)
    if prefix != "family":
        return (key,)
    near = [other for group in _CLOSE_KIN if name in group for other in group if other != name]
    return (key, *(f"family:{other}" for other in near if _includes(name, other)))


def answering_keys(key: str) -> tuple[str, ...]:
    """The keys that answer a question about `key`: a daughter may have been told as one of the children."""
    name = key.removeprefix("family:") if key.startswith("family:") else ""
    collective = (f"family:{group[-1]}" for group in _CLOSE_KIN if name in group)
    return tuple(dict.fromkeys((*equivalent_keys(key), *collective)))


def _includes(name: str, other: str) -> bool:
    """Whether who asks for `name` may mean `other`: children are sons and daughters, not the reverse."""
    return name in ("parents", "children", "siblings") or other == "spouse"


@dataclass(frozen=True)
class TopicMention:
    """The topic that a phrase names as what is to be forgotten: narrow, so that nothing beside it goes."""

    text: str
    span: tuple[int, int]
    keys: tuple[str, ...]
    countable: bool = False
    event: bool = False
    """One of many appointments: only its words tell which."""
    aspect: str = ""
    """The aspect of a person that is meant, as the end of a key."""
    beside: tuple[tuple[int, int], ...] = ()
    """Spans of other words that have been understood."""
    context: str = ""
    """The name of the topic where the phrase has none ("onde eu moro")."""


def topic_to_forget(folded: Folded, start: int, end: int, language: Language) -> TopicMention | None:
    """The topic that a phrase names; None when only its words can tell what is meant."""
    if favorite := _favorite(folded, start, end, language):
        span, name = favorite
        return TopicMention(folded.text[slice(*span)], span, (f"favorite:{name}".rstrip(":"),))
    known = {topic.name: topic for topic in _topics(language)}
    if event := _event(folded, start, end, language):
        keys = known["date"].erases
        return TopicMention(folded.text[slice(*event)], event, keys, countable=True, event=True)
    nouns = [
        (match.start(), match, topic)
        for topic in known.values()
        if (match := topic.nouns.search(folded.text, start, end))
    ]
    if somebody := _somebody(folded, start, end, language):
        span, keys = somebody
        aspects = [(match.span(), topic.name) for _, match, topic in nouns if topic.name in _ASPECTS]
        aspect = aspects[0][1] if aspects else ""
        text = folded.text[slice(*span)]
        return TopicMention(text, span, keys, True, aspect=aspect, beside=tuple(span for span, _ in aspects))
    named = [each for each in nouns if each[2].name != "name"] or nouns
    if named:
        _, match, topic = (min if language == "pt" else max)(named, key=lambda each: each[0])
        if topic.apart and topic.apart.fullmatch(match[0]):
            return None
        return TopicMention(match[0], match.span(), topic.erases, topic.countable)
    for topic in known.values():
        if topic.things and (match := topic.things.search(folded.text, start, end)):
            return TopicMention(match[0], match.span(), (f"{topic.name}:{slug(match[0], language)}",))
        if topic.verbs and (match := topic.verbs.search(folded.text, start, end)):
            return TopicMention(match[0], (start, end), topic.erases, context=topic.context)
    return None


def _event(folded: Folded, start: int, end: int, language: Language) -> tuple[int, int] | None:
    """The first word for an appointment, in the singular or the plural."""
    events = next(topic.things for topic in _topics(language) if topic.name == "date")
    if events is None:
        return None
    if match := events.search(folded.text, start, end):
        return match.span()
    words = _WORD.finditer(folded.text, start, end)
    return next((each.span() for each in words if events.fullmatch(singular(each[0], language))), None)


def unknown_topic(folded: Folded, start: int, end: int, language: Language) -> TopicMatch:
    """The topic of an unknown phrase: its words, and likes and allergies when it names food."""
    start, end = without_article(folded, *trim(folded, start, end), language)
    words = " ".join(folded.original(start, end).split())[:80]
    if not words:
        return TopicMatch()
    short = slug(words, language)
    keys = (f"taste:{short}", f"allergy:{short}", f"diet:{short}") if is_food(words, language) else ()
    return TopicMatch((words,), keys)


def message_contexts(text: str, language: Language) -> tuple[str, ...]:
    """At most three short search contexts of a message: known topics, then names, then content words."""
    spoken = detect_language(text, language)
    folded = fold(text, spoken, limit=MESSAGE_READ)
    known = match_topics(folded, 0, len(folded.text), spoken).contexts
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


def situation_contexts(text: str, language: Language) -> tuple[str, ...]:
    """The search context of each topic that the message's situation touches; () for none."""
    spoken = detect_language(text, language)
    folded = fold(text, spoken, limit=MESSAGE_READ)
    found: dict[str, None] = {}
    for topics, pattern in word_lists(spoken, "language/situations")["situation"].items():
        if compiled(rf"(?<!\w)(?:{pattern})(?!\w)", spoken).search(folded.text):
            for topic in topics.split("_"):
                found.setdefault(topic_context(topic, spoken))
    return tuple(found)
