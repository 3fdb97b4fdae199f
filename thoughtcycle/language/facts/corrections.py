"""Corrections and retractions: what the user takes back of what was told before (HM-6)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from thoughtcycle.language.parse import Clause, Message, Sentence, compiled, neutral_name, phrases
from thoughtcycle.prompts.loader import Language, word_lists

_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Retraction:
    """Something that was told before and holds no longer."""

    key: str
    """The key of the memory that it denies (a prefix, when the clause does not say which)."""
    words: str
    """The clause of the message that says so, verbatim."""


@dataclass(frozen=True)
class Denial:
    """A retraction where it stands, and how a fact under the same key says it ("não é mais vegetariano")."""

    retraction: Retraction
    note: str
    start: int
    end: int
    tells: bool
    """Whether the clause also states a fact ("me separei")."""


@dataclass(frozen=True)
class _Rule:
    keys: tuple[str, ...]
    note: str
    tells: bool
    patterns: tuple[re.Pattern[str], ...]


@cache
def _rules(language: Language) -> tuple[_Rule, ...]:
    def build(entry: Mapping[str, Any]) -> _Rule:
        patterns = tuple(compiled(pattern, language) for pattern in entry["patterns"])
        keys = tuple(entry.get("keys", [entry.get("key")]))
        return _Rule(keys, entry.get("note", ""), entry.get("tells", False), patterns)

    return tuple(build(entry) for entry in word_lists(language, "language/corrections")["retraction"])


def denials_in(message: Message, sentence: Sentence, language: Language) -> Iterator[Denial]:
    """The retractions in the statements of a sentence."""
    for clause in sentence.clauses:
        if clause.mood == "statement" and not clause.other_subject:
            yield from _denials(message, clause, language)


def _denials(message: Message, clause: Clause, language: Language) -> Iterator[Denial]:
    folded = message.folded
    for rule in _rules(language):
        for pattern in rule.patterns:
            match = pattern.match(folded.text, clause.start, clause.end)
            if match is None:
                continue
            words = folded.original(*phrases.trim(folded, clause.start, clause.end))
            said = match.groupdict()
            spans = [(0, 0)]
            if said.get("x"):
                spans = phrases.items(folded, *match.span("x"), language) or spans
            for span in spans:
                text = folded.original(*phrases.without_article(folded, *span, language))
                slots = {"x": phrases.slug(text, language), **_neutral_slots(said, language)}
                note = _filled(rule.note, {"x": text})
                for key in rule.keys:
                    if "{x}" not in key or slots["x"]:
                        retraction = Retraction(_filled(key, slots).strip(": "), words)
                        yield Denial(retraction, note, clause.start, clause.end, rule.tells)
            return


def _neutral_slots(said: Mapping[str, str | None], language: Language) -> dict[str, str]:
    """The kin and pet of a match by their neutral names."""
    tables = (("kin", "kin"), ("pet", "pets"))
    return {group: neutral_name(said.get(group) or "", table, language) or "" for group, table in tables}


def _filled(template: str, slots: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda match: slots[match[1]], template)


def corrects(message: Message, sentence: Sentence, language: Language) -> bool:
    """Whether a sentence is worded as correcting or changing something told before."""
    marker = compiled(word_lists(language, "language/corrections")["marker"], language)
    text = message.text(sentence)
    unsaid = {clause.mood for clause in sentence.clauses} <= {"hypothetical", "reported", "question"}
    return not unsaid and marker.search(text) is not None


def says_wrong(message: Message, sentence: Sentence, language: Language) -> bool:
    """Whether a sentence says that something kept is wrong, even without saying what is right."""
    wrong = compiled(word_lists(language, "language/corrections")["wrong"], language)
    return wrong.search(message.text(sentence)) is not None
