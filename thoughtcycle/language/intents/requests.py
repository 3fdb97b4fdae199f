"""Requests to the memory: to recall, to note something down, to keep nothing, to undo the last change."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from thoughtcycle.language.facts import Fact, facts_of
from thoughtcycle.language.parse import (
    EVERYTHING,
    Folded,
    Message,
    Sentence,
    TopicMatch,
    annotate,
    answering_keys,
    compiled,
    fold,
    match_topics,
    parse,
    phrases,
    strip_lead,
    topic_bindings,
    topic_context,
    unknown_topic,
)
from thoughtcycle.prompts.loader import LANGUAGES, Language, word_lists

NOTE_LENGTH = 500
"""Characters of a note that is kept as said."""
LONGEST_ALONE = 200
"""Characters of a message that only asks to keep nothing, or to undo."""
_SPOUSES = tuple(f"family:{name}" for name in ("spouse", "wife", "husband", "partner", "fiance"))
"""Key prefixes under which somebody is told whom the user is married to."""


@cache
def _data(language: Language) -> Mapping[str, Any]:
    return word_lists(language, "language/requests")


def _topic_or_words(message: Message, start: int, end: int, language: Language) -> TopicMatch:
    """The topics that a phrase names, else the phrase itself."""
    found = match_topics(message.folded, start, end, language)
    return found if found.contexts else unknown_topic(message.folded, start, end, language)


def _of_facts(facts: tuple[Fact, ...], language: Language) -> TopicMatch:
    total = TopicMatch()
    for fact in facts:
        kind = fact.key.partition(":")[0]
        context = fact.bindings[-1] if kind in ("taste", "allergy", "family", "pet") and fact.bindings else ""
        keys = answering_keys(fact.key)
        total += TopicMatch((context or topic_context(fact.topic, language),), keys, keys)
    return total


def remember_in(
    message: Message, sentence: Sentence, language: Language, now: datetime
) -> tuple[tuple[Fact, ...], int] | None:
    """The facts that a sentence asks to note down, else its words as a note; and where the request ends."""
    folded = message.folded
    pattern = compiled(_data(language)["remember"], language)
    for clause in sentence.clauses:
        if clause.mood in ("hypothetical", "reported"):
            continue
        match = pattern.match(folded.text, clause.start, sentence.end)
        if match is None or (sentence.question and not match.groupdict().get("please")):
            continue
        start, end = phrases.trim(folded, match.end(), sentence.end)
        if start >= end:
            start, end = phrases.trim(folded, match.end(), len(folded.text))
        if start >= end:
            return None
        payload = folded.original(start, end)
        if compiled(_data(language)["no_note"], language).fullmatch(folded.text, start, end):
            return None
        facts = facts_of(payload, language, now) or (note(payload, language, now),)
        return facts, end
    return None


def asks_to_keep(text: str, words: str = "") -> bool:
    """Whether a message says, in any language, that something shall be kept: "remember that …".

    With `words` of the message: that these shall be, by the sentence that has them, or by one that names
    nothing itself ("guarda isso") or ends with a colon.
    """
    at = text.find(words)
    return any(_asks_in(parse(text, language), language, at if words else None) for language in LANGUAGES)


def _asks_in(message: Message, language: Language, at: int | None) -> bool:
    folded = message.folded
    no_note = compiled(_data(language)["no_note"], language)
    pattern = compiled(_data(language)["remember"], language)
    for sentence in message.sentences:
        for clause in sentence.clauses:
            match = pattern.match(message.folded.text, clause.start, sentence.end)
            asks = match is not None and (not sentence.question or match.groupdict().get("please"))
            if match is None or not asks or clause.mood in ("hypothetical", "reported"):
                continue
            start, end = phrases.trim(folded, match.end(), sentence.end)
            bare = start >= end or no_note.fullmatch(folded.text, start, end) is not None
            if at is None or bare or folded.text[start:end].rstrip().endswith(":"):
                return True
            if folded.starts[sentence.start] <= at < folded.ends[sentence.end - 1]:
                return True
    return False


def note(payload: str, language: Language, now: datetime) -> Fact:
    """A fact that no rule knows, kept in the user's words."""
    words = payload.strip()[:NOTE_LENGTH].strip()
    shortened = len(words) < len(payload.strip())
    content = annotate(" ".join(words.split()), language, now) + "…" * shortened
    return Fact(
        content=content[:1].upper() + content[1:],
        kind=None,
        key=f"note:{phrases.slug(words, language)}"[:120],
        topic="note",
        bindings=topic_bindings("note"),
        words=words,
        weight=1.0,
        shortened=shortened,
    )


def recall_in(message: Message, sentence: Sentence, language: Language, now: datetime) -> TopicMatch | None:
    """The topics that a sentence asks to recall; None when it asks for nothing the user told before."""
    folded, data = message.folded, _data(language)
    for clause in sentence.clauses:
        if clause.mood in ("hypothetical", "reported"):
            continue
        start = clause.start
        if compiled(data["asked_everything"], language).match(folded.text, start, sentence.end):
            return TopicMatch((EVERYTHING,))
        if match := compiled(data["asked_about"], language).match(folded.text, start, sentence.end):
            return _named(message, *match.span("what"), language, now)
        if match := compiled(data["asked_tell"], language).match(folded.text, start, sentence.end):
            return _own(message, *match.span("what"), language, now)
        match = compiled(data["asked_person"], language).match(folded.text, start, sentence.end)
        if match and folded.original(*match.span("what"))[:1].isupper():
            return unknown_topic(folded, *match.span("what"), language)
    if not sentence.question:
        return None
    return _of_own_question(message, sentence, language, now)


def _named(message: Message, start: int, end: int, language: Language, now: datetime) -> TopicMatch:
    start, end = phrases.phrase(message.folded, start, end, language)
    text = message.folded.text[start:end]
    if compiled(_data(language)["myself"], language).fullmatch(text):
        return TopicMatch((EVERYTHING,))
    facts = facts_of(message.folded.original(start, end), language, now)
    return _of_facts(facts, language) if facts else _topic_or_words(message, start, end, language)


def _of_own_question(
    message: Message, sentence: Sentence, language: Language, now: datetime
) -> TopicMatch | None:
    begin = next((clause.start for clause in sentence.clauses if clause.mood == "question"), sentence.end)
    return _own(message, begin, sentence.end, language, now)


def _own(message: Message, begin: int, until: int, language: Language, now: datetime) -> TopicMatch | None:
    """The topic of a question about the user ("onde eu moro?"); None for one that asks advice."""
    folded, data = message.folded, _data(language)
    question = folded.text[begin:until]
    own = compiled(data["self"], language).search(question) is not None
    if compiled(data["advice"], language).search(question):
        own = False
    if own and (facts := _yes_or_no(message, begin, until, language, now)):
        return _with_spouses(_of_facts(facts, language))
    if match := compiled(data["short_ask"], language).fullmatch(question.strip(" ,")):
        at = begin + question.index(match["what"])
        found = match_topics(folded, at, at + len(match["what"]), language)
        if found.contexts:
            return found
    if not own:
        return _of_thing(message, begin, until, language)
    found = match_topics(folded, begin, until, language)
    if found.contexts:
        return found
    start, end, _ = strip_lead(folded, begin, until, language)
    wanted = ("asks_memory", "own_yes_or_no")
    if not any(compiled(data[name], language).search(folded.text, start, end) for name in wanted):
        return _of_thing(message, begin, until, language)
    if match := compiled(data["question_frame"], language).match(folded.text, start, end):
        start = match.end()
    return unknown_topic(folded, start, end, language)


def _with_spouses(wanted: TopicMatch) -> TopicMatch:
    """`wanted` with the keys of a spouse where it asks for the marital status."""
    return wanted + TopicMatch((), _SPOUSES, _SPOUSES) if "marital" in wanted.keys else wanted


def speaks_of_self(question: str, language: Language) -> bool:
    """Whether a question has a word for the one who asks ("my", "I")."""
    return compiled(_data(language)["self"], language).search(fold(question, language).text) is not None


def _of_thing(message: Message, begin: int, until: int, language: Language) -> TopicMatch | None:
    """The thing in a question that only the user can have told: an event, a code, somebody by name."""
    folded, data = message.folded, _data(language)
    start, end, _ = strip_lead(folded, begin, until, language)
    if compiled(data["world"], language).search(folded.text, start, end):
        return None
    for name in ("private", "thing"):
        if match := compiled(data[name], language).match(folded.text, start, end):
            proper = _proper(folded, *match.span("what"))
            if not proper or compiled("{event}", language).match(folded.text, match.start("what")):
                scheduled = name == "thing"
                return _named_thing(folded, *match.span("what"), language, proper, scheduled)
    for name in ("person", "somebody"):
        match = compiled(data[name], language).match(folded.text, start, end)
        if match and _proper(folded, *match.span("name")):
            return TopicMatch(unknown_topic(folded, *match.span("what"), language).contexts)
    return None


def _named_thing(
    folded: Folded, start: int, end: int, language: Language, proper: bool, scheduled: bool
) -> TopicMatch:
    """The words of what is asked; when an event is ("o dentista"), the schedule alone tells."""
    words = unknown_topic(folded, start, end, language).contexts
    known = match_topics(folded, start, end, language).keys
    return TopicMatch(words, ("date",) if scheduled and "date" in known else () if proper else known)


def _proper(folded: Folded, start: int, end: int) -> bool:
    """Whether a phrase was typed with a capital: the name of somebody or something."""
    return any(word[:1].isupper() for word in folded.original(start, end).split())


def _yes_or_no(message: Message, start: int, end: int, language: Language, now: datetime) -> tuple[Fact, ...]:
    """The facts that a yes-or-no question asks about, read as if they were stated."""
    text = message.folded.text[start:end]
    for pattern, replacement in _data(language)["as_statement"]:
        changed = compiled(pattern, language).sub(replacement, text, count=1)
        if changed != text:
            return facts_of(changed, language, now)
    return facts_of(message.folded.original(start, end).rstrip("?"), language, now)


def asks_not_to_keep(text: str) -> bool:
    """Whether a message says, in any language, that it is not to be kept: "don't remember this: …"."""
    return any(
        compiled(_clause_pattern("not_kept", language), language).search(fold(text, language).text)
        for language in LANGUAGES
    )


def asks_not_to_keep_last(text: str) -> bool:
    """Whether a message only asks to keep nothing, and so means the message before it."""
    return len(text) <= LONGEST_ALONE and any(_says_only_that(text, language) for language in LANGUAGES)


def asks_to_undo_last(text: str) -> bool:
    """Whether a message says, in any language, nothing but that the last change shall be taken back."""
    return _says_alone(text, "undo_last")


def asks_to_bring_back(text: str) -> bool:
    """Whether a message says, in any language, nothing but that what was deleted shall come back."""
    return _says_alone(text, "bring_back")


def _says_alone(text: str, name: str) -> bool:
    return len(text) <= LONGEST_ALONE and any(
        compiled(str(word_lists(language, "language/social")[name]), language).fullmatch(
            fold(text, language).text.strip(" .,!;?…")
        )
        for language in LANGUAGES
    )


def _says_only_that(text: str, language: Language) -> bool:
    folded = fold(text, language).text.strip(" .,!;?…")
    if "?" in text and not compiled(_clause_pattern("not_kept_asked", language), language).search(folded):
        return False
    return compiled(_clause_pattern("not_kept_alone", language), language).fullmatch(folded) is not None


@cache
def _clause_pattern(name: str, language: Language) -> str:
    return str(word_lists(language, "language/clauses")[name])
