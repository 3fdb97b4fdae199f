"""Understands a message of the user by rules: facts, corrections, requests, courtesies."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Literal

from thoughtcycle.language.facts import Denial, Fact, Retraction, corrects, denials_in, facts_in, says_wrong
from thoughtcycle.language.intents.forgetting import Target, forget_in
from thoughtcycle.language.intents.requests import recall_in, remember_in
from thoughtcycle.language.parse import (
    EVERYTHING,
    LAST,
    Message,
    Sentence,
    TopicMatch,
    compiled,
    detect_language,
    parse,
)
from thoughtcycle.prompts.loader import Language, word_lists

Social = Literal["greeting", "thanks", "farewell", "smalltalk", "help", "identity", "undo"]
_COURTESIES: tuple[Social, ...] = ("undo", "identity", "help", "greeting", "thanks", "farewell", "smalltalk")
"""In the order in which the reply answers one."""
_SHORT = 300
"""Characters of a message that may ask to forget everything."""
_ANSWERABLE: frozenset[Social] = frozenset({"identity", "help", "smalltalk", "undo"})
"""Questions of these kinds have an answer by rules."""


@dataclass(frozen=True)
class Understanding:
    """The meaning of a message for the memory. Every field is empty when there is nothing to understand."""

    language: Language
    facts: tuple[Fact, ...]
    retractions: tuple[Retraction, ...]
    correction: bool
    """The wording corrects or changes something told before."""
    asked: tuple[str, ...]
    """Search contexts of what the user asks back; `("*",)` for everything about them."""
    asked_keys: tuple[str, ...]
    """Key prefixes that would answer it; empty when the topic is unknown or everything."""
    asked_whole: tuple[str, ...]
    """The asked keys under which every memory answers, whatever its words."""
    forget: tuple[str, ...]
    """Search contexts of what to erase; `("*",)` only for an explicit "everything". `("@last",)`, with no
    keys, is the last thing told in this chat ("forget that", "esquece isso"); it is never asked for by a
    message that tells something instead ("scratch that, my name is Paul"), which is a correction."""
    forget_keys: tuple[str, ...]
    targets: tuple[Target, ...]
    """The things to forget, each with what tells its memories from others."""
    final: bool
    """To be erased for good, without a way back."""
    social: Social | None
    beyond: bool
    """A question or request that rules cannot serve."""


@dataclass(frozen=True)
class Disclosure:
    """Whether a message discloses something of the user, is taken back, or only asks to forget."""

    personal: bool
    """Whether it states a fact about the user, takes one back, or asks to note something down."""
    unsaid: bool
    """Whether the message is a joke or not to be kept."""
    forgets: bool
    """Whether the message asks to forget something and tells nothing else."""


@dataclass
class _Findings:
    """The findings so far while the sentences are read in order."""

    facts: list[Fact] = field(default_factory=list)
    denials: list[Denial] = field(default_factory=list)
    asked: TopicMatch = field(default_factory=TopicMatch)
    targets: list[Target] = field(default_factory=list)
    social: frozenset[Social] = frozenset()
    correction: bool = False
    final: bool = False
    beyond: bool = False
    done: int = 0
    """Folded offset up to which the message is already understood."""


@lru_cache(maxsize=256)  # a turn reads its message several times, formation once more soon after
def understand(text: str, *, language: Language, now: datetime) -> Understanding:
    """Reads a message of the user; `language` decides where its words do not.

    `now` is the message's own time in the user's time zone: relative dates are resolved against it.
    Pure and linear in the length of `text`, of which the first 20,000 characters are read.
    """
    spoken = detect_language(text, language)
    message = parse(text, spoken)
    found = _Findings()
    for sentence in message.sentences:
        if sentence.start >= found.done:
            _read(message, sentence, spoken, now, found)
    told = () if message.unsaid else _merged(found.facts, found.denials)
    denied = () if message.unsaid else tuple(dict.fromkeys(denial.retraction for denial in found.denials))
    instead = bool(told or denied) and any(target.context == LAST for target in found.targets)
    targets = () if instead else tuple(dict.fromkeys(found.targets))
    forget = _narrowed(tuple(dict.fromkeys(target.context for target in targets)))
    return Understanding(
        language=spoken,
        facts=told,
        retractions=denied,
        correction=not message.unsaid and (bool(denied) or found.correction or instead),
        asked=_narrowed(found.asked.contexts),
        asked_keys=() if EVERYTHING in found.asked.contexts else found.asked.keys,
        asked_whole=() if EVERYTHING in found.asked.contexts else found.asked.whole,
        forget=forget,
        forget_keys=()
        if EVERYTHING in forget
        else tuple(dict.fromkeys(key for target in targets for key in target.keys)),
        targets=targets,
        final=found.final,
        social=next((name for name in _COURTESIES if name in found.social), None),
        beyond=found.beyond,
    )


def _narrowed(contexts: tuple[str, ...]) -> tuple[str, ...]:
    return (EVERYTHING,) if EVERYTHING in contexts else contexts


def _read(message: Message, sentence: Sentence, language: Language, now: datetime, found: _Findings) -> None:
    """Adds what one sentence means."""
    text, words = message.text(sentence).strip(" \n,.!?*"), word_lists(language, "language/social")
    social: set[Social] = {name for name in _COURTESIES if compiled(words[name], language).search(text)}
    found.social |= social
    nods = compiled(words["nods"], language).fullmatch(text) is not None  # "ok", "sério?"
    served = nods or not _ANSWERABLE.isdisjoint(social)
    if request := forget_in(message, sentence, language, now):
        found.targets += request.targets
        found.final |= request.final
        sentence, served = _after(sentence, request.end), True
    elif kept := remember_in(message, sentence, language, now):
        facts, found.done = kept
        found.facts += facts
        return
    elif not served and (asked := recall_in(message, sentence, language, now)):
        found.asked += asked
        served = True
    _learn(message, sentence, language, now, found)
    asks = sentence.question or _requests_work(message, sentence, language)
    found.beyond |= asks and not served


def _requests_work(message: Message, sentence: Sentence, language: Language) -> bool:
    """Whether a sentence asks for something to be written, translated, computed, explained …"""
    pattern = compiled(word_lists(language, "language/social")["beyond"], language)
    return any(
        clause.mood != "reported" and pattern.match(message.folded.text, clause.start, sentence.end)
        for clause in sentence.clauses
    )


def _after(sentence: Sentence, end: int) -> Sentence:
    """The sentence without the clauses that begin before `end`."""
    return replace(sentence, clauses=tuple(clause for clause in sentence.clauses if clause.start >= end))


def _learn(message: Message, sentence: Sentence, language: Language, now: datetime, found: _Findings) -> None:
    """Adds the facts and retractions of a sentence's statements."""
    denials = list(denials_in(message, sentence, language))
    taken = {denial.start for denial in denials if not denial.tells}
    read = list(facts_in(message, sentence, language, now, without=taken))
    found.denials += denials
    found.facts += [fact for each in read for fact in each.facts]
    changed = bool(read or denials) and corrects(message, sentence, language)
    found.correction |= (
        changed or any(each.correction for each in read) or says_wrong(message, sentence, language)
    )


def _merged(facts: Iterable[Fact], denials: Iterable[Denial]) -> tuple[Fact, ...]:
    """One fact per key – the last said holds –, naming what it replaces ("…, não é mais vegetariano")."""
    latest: dict[str, Fact] = {}
    for fact in facts:
        latest.pop(fact.key, None)
        latest[fact.key] = fact
    for denial in denials:
        key = denial.retraction.key
        if denial.note and key in latest:
            latest[key] = replace(latest[key], content=f"{latest[key].content}, {denial.note}")
    return tuple(latest.values())


def disclosure(text: str, language: Language, now: datetime) -> Disclosure:
    """Reads a message; `language` decides where its words do not. Linear in the length of `text`."""
    found = understand(text, language=language, now=now)
    personal = bool(found.facts or found.retractions)
    unsaid = parse(text, detect_language(text, language)).unsaid
    return Disclosure(personal, unsaid, forgets=bool(found.targets) and not personal)


def forgets_everything(text: str, language: Language, now: datetime) -> bool:
    """Whether a message, a short one, asks to forget all that is known."""
    return len(text) <= _SHORT and EVERYTHING in understand(text, language=language, now=now).forget
