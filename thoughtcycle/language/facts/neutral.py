"""Reads a memory's text back: the fact of the rules behind a short neutral sentence ("Lives in Lisbon")."""

import re
from collections.abc import Iterator
from datetime import datetime

from thoughtcycle.language.facts.extraction import Fact, facts_of
from thoughtcycle.language.facts.statements import parse_statement
from thoughtcycle.language.parse import vocabulary
from thoughtcycle.prompts.loader import Language

READ = 400
"""Characters of a text that is read; a longer one is no single fact."""
OF_FACT, OF_CONTENT = 0.5, 0.6
"""Shares of the concepts that a fact of the rules and a text must have in common."""


def fact_behind(content: str, words: str, language: Language, now: datetime) -> Fact | None:
    """The one fact that `content` states, by the user's `words` behind it, else by its own.

    None where the rules read none, several equally like it, or one that says much less than `content`.
    """
    if len(content) > READ:
        return None
    for text in (words[:READ], *first_person(content, language)):
        likeness = {fact: _likeness(content, fact, language) for fact in facts_of(text, language, now)}
        best = max(likeness.values(), default=0.0)
        if best > 0:
            facts = [fact for fact in likeness if likeness[fact] == best]
            return facts[0] if len({fact.key for fact in facts}) == 1 else None
    return None


def first_person(content: str, language: Language) -> Iterator[str]:
    """`content` as the user may have said it, the likeliest first."""
    entries = vocabulary(language)
    text = re.sub(entries["subject"], "", content, count=1, flags=re.IGNORECASE)
    yield text
    text = text[:1].lower() + text[1:]  # "Allergic" is no name
    for pattern, replacement in entries["first_person"]:
        said, changed = re.subn(pattern, replacement, text, count=1, flags=re.IGNORECASE)
        if changed:
            yield said


def tells_past(content: str, language: Language) -> bool:
    """Whether a memory's text tells of something that is over ("Went to Rome on Friday")."""
    text = re.sub(vocabulary(language)["subject"], "", content, count=1, flags=re.IGNORECASE)
    return re.match(vocabulary(language)["past"], text, re.IGNORECASE) is not None


def _likeness(content: str, fact: Fact, language: Language) -> float:
    """How much `content` and the fact say the same; 0 where one of them says much more."""
    said, read = (frozenset(parse_statement(text, language).concepts) for text in (content, fact.content))
    common = len(said & read)
    enough = common >= OF_FACT * len(read) and common >= OF_CONTENT * len(said)
    return common / len(said | read) if common and enough else 0.0
