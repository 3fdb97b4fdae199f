"""Requests to forget: each target by the keys of its topic, by its own words, or by both (TC-11)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from thoughtcycle.language.facts import Fact, facts_of
from thoughtcycle.language.parse import (
    EVERYTHING,
    LAST,
    Folded,
    Message,
    Sentence,
    TopicMatch,
    TopicMention,
    compiled,
    fold,
    fold_word,
    phrases,
    topic_context,
    topic_to_forget,
    undated,
    unknown_topic,
    vocabulary,
)
from thoughtcycle.prompts.loader import LANGUAGES, Language, word_lists

_GREETING = 3
"""Words before a wish."""
_AND = re.compile(r" ?, (?:e |and )?| (?:e|and|&) ")


@dataclass(frozen=True)
class Target:
    """One thing to be forgotten; a memory is meant when it fits `keys`, `aspect` and `words` together."""

    context: str
    """The thing as the user names it; `*` for everything, `@last` for what was last told in this chat."""
    keys: tuple[str, ...] = ()
    """Key prefixes of its topic; empty when only its words tell which memory it is."""
    words: str = ""
    """Words that the memory's text must have, all of them."""
    aspect: str = ""
    """The end of the key of what is meant of somebody ("o aniversário da minha irmã")."""
    one: bool = False
    """Whether a single memory is meant: where several fit, nothing may be erased without asking."""
    either: tuple[str, ...] = ()
    """Names of the thing, of which the text must have one; the first that a text has counts."""


@dataclass(frozen=True)
class Forget:
    """A request to erase, and the folded offset at which it ends."""

    targets: tuple[Target, ...]
    final: bool
    end: int


@cache
def _data(language: Language) -> Mapping[str, Any]:
    return word_lists(language, "language/requests")


def is_final(text: str) -> bool:
    """Whether something is asked for with no way back, in any language."""
    return any(
        compiled(_data(language)["final"], language).search(fold(text, language).text)
        for language in LANGUAGES
    )


def forget_in(message: Message, sentence: Sentence, language: Language, now: datetime) -> Forget | None:
    """The request to erase; `*` only for an explicit "everything", `@last` for "forget that"."""
    text = message.folded.text
    alone = message.text(sentence).strip(" ,")
    if compiled(_data(language)["forget_last"], language).fullmatch(alone):
        if _is_material(message, sentence.start, language):
            return None
        return Forget((Target(LAST),), _final(message, sentence, language), sentence.end)
    pattern = compiled(_data(language)["forget"], language)
    if wish := _wish(message, sentence, language, now):
        return Forget(wish, _final(message, sentence, language), sentence.end)
    spoken = [clause for clause in sentence.clauses if clause.start < clause.end]
    for clause in spoken:
        if clause.mood in ("hypothetical", "reported"):
            continue
        end = _extended(message, sentence, clause.end, language)
        match = pattern.match(text, clause.start, end)
        if match is None:
            continue
        targets = _targets(message, *match.span("what"), language, now)
        if _is_material(message, match.start(), language):
            return None
        sure = clause is spoken[0] and (
            targets == (Target(EVERYTHING),)  # confirmed before anything is deleted
            or compiled(_data(language)["forget_word"], language).search(match[0])
        )
        # "To relax and forget my troubles": what goes on with another thought must name a known topic.
        if targets and (sure or any(target.keys for target in targets)):
            return Forget(targets, _final(message, sentence, language), end)
        return None
    return None


def _wish(message: Message, sentence: Sentence, language: Language, now: datetime) -> tuple[Target, ...]:
    """What "I want to delete …" asks for: everything, or something out of the memory; nothing else counts.

    It has to stand at the beginning of the message: after a story it may be about anything.
    """
    folded, text = message.folded, message.folded.text
    start, end = phrases.trim(folded, sentence.start, sentence.end)
    start, end = phrases.trim(folded, *_without_final(folded, start, end, language))
    wish = compiled(_data(language)["forget_wish"], language).fullmatch(text, start, end)
    if wish is None or len(text[:start].split()) > _GREETING:
        return ()
    start, end = wish.span("what" if wish["what"] else "what2")
    if inside := compiled(_data(language)["forget_from_memory"], language).search(text, start, end):
        end = inside.start()
    targets = _targets(message, start, end, language, now)
    return targets if inside or targets == (Target(EVERYTHING),) else ()


def _is_material(message: Message, at: int, language: Language) -> bool:
    """Whether what begins at `at` belongs to a text that the message quotes or gives to work on."""
    folded = message.folded
    named = compiled(_data(language)["material"], language).search(folded.text, 0, at)
    return named is not None or "```" in folded.source[: folded.starts[at]]


def _final(message: Message, sentence: Sentence, language: Language) -> bool:
    return compiled(_data(language)["final"], language).search(message.text(sentence)) is not None


def _extended(message: Message, sentence: Sentence, end: int, language: Language) -> int:
    """The end of the clauses that go on with the request after `end`."""
    more = compiled(_data(language)["forget_more"], language)
    for clause in sentence.clauses:
        raw = clause.start - len(clause.lead)
        if raw >= end:
            if clause.mood == "reported" or not more.match(message.folded.text, raw, clause.end):
                break
            end = clause.end
    return end


def _targets(message: Message, start: int, end: int, language: Language, now: datetime) -> tuple[Target, ...]:
    folded, data = message.folded, _data(language)
    start, end = _without_final(folded, start, end, language)
    start, end = phrases.phrase(folded, start, end, language)
    text = folded.text[start:end]
    if compiled(data["forget_nothing"], language).fullmatch(text):
        return ()
    if compiled(data["forget_everything"], language).fullmatch(text):
        return (Target(EVERYTHING),)
    if match := compiled(data["forget_told"], language).match(text):
        start += match.end()
    about = compiled(data["forget_about"], language).match(folded.text, start, end)
    several = about is not None and compiled(data["forget_all_of"], language).search(about[0]) is not None
    if not several and (facts := facts_of(folded.original(start, end), language, now)):
        return tuple(_of_fact(fact, language) for fact in facts)
    if about is not None:
        start = about.end()
    end = phrases.strip_words(folded, start, end, data["forget_tail"], language)
    targets: tuple[Target, ...] = ()
    for a, b in _parts(folded, start, end):
        if targets and targets[-1].either and (nouns := _contact_nouns(folded.text[a:b], language)):
            targets += (replace(targets[-1], either=nouns),)  # "Jorge's phone number and e-mail"
        else:
            targets += _part(folded, a, b, language, now, several=several)
    return targets


def _without_final(folded: Folded, start: int, end: int, language: Language) -> tuple[int, int]:
    """The span without a phrase such as "para sempre" at its beginning or end."""
    for match in compiled(_data(language)["final"], language).finditer(folded.text, start, end):
        if match.start() - start < 3:
            start = match.end()
        elif match.start() > start:
            return start, match.start()
    return start, end


def _of_fact(fact: Fact, language: Language) -> Target:
    kind = fact.key.partition(":")[0]
    named = fact.bindings[-1] if kind in ("taste", "allergy", "family", "pet") and fact.bindings else ""
    return Target(named or topic_context(fact.topic, language), (fact.key,))


def _parts(folded: Folded, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The things of "meu nome e minha idade"."""
    for match in _AND.finditer(folded.text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def _part(
    folded: Folded, start: int, end: int, language: Language, now: datetime, *, several: bool
) -> tuple[Target, ...]:
    """The target that one part of the request names."""
    if match := compiled(_data(language)["forget_several"], language).match(folded.text, start, end):
        several, start = True, match.end()
    start, end = phrases.without_article(folded, *phrases.trim(folded, start, end), language)
    if match := compiled(_data(language)["forget_contact"], language).fullmatch(folded.text, start, end):
        return (_of_contact(folded, match, language),)
    found = topic_to_forget(folded, start, end, language)
    if found is None or not (found.event or found.context or _is_head(folded, start, end, found, language)):
        about = unknown_topic(folded, start, end, language)
        if _proper(folded, start, end):
            about = TopicMatch(about.contexts)
        words = "" if about.keys else " ".join(about.contexts)
        one = bool(words) and not (several or _proper(folded, start, end))
        return tuple(Target(context, about.keys, words, one=one) for context in about.contexts)
    if found.event:
        said = folded.original(start, end)
        phrase = undated(said, language, now) or said
        plural = _plural(found, language)
        words = phrase.replace(folded.original(*found.span), phrases.singular(found.text, language))
        return (Target(phrase, found.keys, words if plural else phrase, one=not (several or plural)),)
    return (_of_topic(folded, start, end, found, language, several=several),)


def _of_contact(folded: Folded, match: re.Match[str], language: Language) -> Target:
    """The contact of somebody else: the text must name both."""
    noun, who = ("noun", "who") if match["who"] else ("noun2", "who2")
    words, either = folded.original(*match.span(who)), _contact_nouns(match[noun], language)
    return Target(folded.original(*match.span(noun)).lower(), words=words, either=either, one=True)


def _contact_nouns(text: str, language: Language) -> tuple[str, ...]:
    """The names of the contact that `text` begins with, its own first; none where it names something else."""
    named = text.strip().removeprefix("o ").removeprefix("the ").partition(" ")[0]
    groups: list[list[str]] = _data(language)["contact_nouns"]
    group = next((each for each in groups if named in map(fold_word, each)), None)
    return () if group is None else tuple(dict.fromkeys((named, *group)))


def _of_topic(
    folded: Folded, start: int, end: int, found: TopicMention, language: Language, *, several: bool
) -> Target:
    words = _qualifier(folded, start, end, found, language)
    context = " ".join(filter(None, (folded.original(*found.span).lower(), words)))
    if found.aspect:
        context = folded.original(start, end)
    one = found.countable and not (several or found.aspect or _plural(found, language))
    return Target(found.context or context, found.keys, words, found.aspect, one)


def _is_head(folded: Folded, start: int, end: int, found: TopicMention, language: Language) -> bool:
    """Whether a phrase is about its topic, and the user's: not "alarme da casa", nor "nome da minha ex"."""
    data, spans = _data(language), (found.span, *found.beside)
    thing, who = (start, end), None
    if owned := compiled(data["forget_owned"], language).fullmatch(folded.text, start, end):
        of = "" if owned["thing"] else "2"
        thing, who = owned.span(f"thing{of}"), owned.span(f"who{of}")
    if cut := compiled(data["forget_beside"], language).search(folded.text, *thing):
        thing = thing[0], max(cut.start(), min(end, found.span[1]))
    general = compiled(data["forget_general"], language)
    skipped = {*vocabulary(language)["stopwords"], *data["forget_plain"]}
    heads = [
        match.span()
        for match in re.compile(r"[^\W_]+").finditer(folded.text, *thing)
        if match[0] not in skipped
        and not folded.original(*match.span())[:1].isupper()
        and (_within(match.start(), spans) or not general.match(match[0]))
    ]
    if who is not None and found.span[0] in range(*who):  # "nome da empresa"
        return all(_within(head[0], spans) for head in heads)
    if who is not None and topic_to_forget(folded, *who, language) is None:
        return False
    if not heads or _within((head := heads[0 if language == "pt" else -1])[0], spans):
        return True
    named = topic_to_forget(folded, *head, language)
    return named is not None and named.keys == found.keys  # "home address"


def _within(at: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in spans)


def _plural(found: TopicMention, language: Language) -> bool:
    return phrases.singular(found.text, language) != found.text


def _qualifier(folded: Folded, start: int, end: int, found: TopicMention, language: Language) -> str:
    """The words that tell one from the others: "Apollo" of "projeto Apollo", "Ana" of "minha irmã Ana"."""
    plain = _data(language)["forget_plain"]  # adjectives that tell nothing apart
    stop = frozenset((*vocabulary(language)["stopwords"], *plain))
    lower = folded.source == folded.source.lower()
    names = []
    for match in re.finditer(r"[^\W_]+", folded.text[start:end]):
        a, b = start + match.start(), start + match.end()
        inside = any(x <= a < y for x, y in (found.span, *found.beside))
        typed = folded.original(a, b)
        telling = typed[:1].isupper() or typed.isdigit() or (found.countable and lower)
        if not inside and telling and match[0] not in stop:
            names.append(typed)
    return " ".join(names)


def _proper(folded: Folded, start: int, end: int) -> bool:
    return folded.original(start, end)[:1].isupper()
