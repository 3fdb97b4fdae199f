"""Filters the memories of a topic by the question: person, attitude, no facts that are over (pure)."""

import re
from collections.abc import Collection, Iterable, Sequence

from thoughtcycle.language.facts import parse_statement
from thoughtcycle.language.intents import speaks_of_self
from thoughtcycle.memory.model import Recalled
from thoughtcycle.memory.redaction import common_words
from thoughtcycle.memory.text.analyzer import fold, terms
from thoughtcycle.prompts.loader import LANGUAGES, Language, texts

_NAME = re.compile(r"(?<![.!?:;]\s)(?<=\s)[A-ZÀ-Ý][\w-]+")
"""A word written as a name: it does not begin the sentence."""
_ADDRESSED = re.compile(r"^(?:\w+ )?[A-ZÀ-Ý][\w-]+, |, [A-ZÀ-Ý][\w-]+(?=\W*$)")
"""A name that the message addresses: "Hey Sofia, when is the trip?"."""
_LIKINGS = ("taste", "preference", "favorite")
"""Beginnings of the keys of both likes and dislikes."""


def answering_memories(
    question: str, memories: Sequence[Recalled], language: Language, keys: Collection[str] = ()
) -> list[Recalled]:
    """The memories of the people named and the attitude asked for; no ended facts where others are left.

    `keys`: those that answer the question.
    """
    named = _of_named(question, memories, language)
    fitting = _of_attitude(question, named, language, pastime="hobby" in keys)
    no_longer = [texts(each, "actions/memory_update")["rules.no_longer"] for each in LANGUAGES]
    ended = tuple(text.split("{{")[0] for text in no_longer)
    return [memory for memory in fitting if not memory["content"].startswith(ended)] or fitting


def _of_named(question: str, memories: Sequence[Recalled], language: Language) -> list[Recalled]:
    """The memories of the people that are named; the user's own answer no question about others."""
    capitalised = _NAME.findall(_ADDRESSED.sub("", question)) if question != question.upper() else []
    names = _forms(name for name in capitalised if fold(name) not in common_words())  # "March" is nobody
    naming = [memory for memory in memories if names & _forms([memory["content"]])]
    return naming if naming or (names and not speaks_of_self(question, language)) else list(memories)


def _forms(texts: Iterable[str]) -> set[str]:
    return {form for text in texts for term in terms(text) for form in term}


def _of_attitude(
    question: str, memories: Sequence[Recalled], language: Language, *, pastime: bool
) -> list[Recalled]:
    asked = parse_statement(question, language)
    if not pastime and not {"like", "prefer"}.intersection(asked.concepts):
        return list(memories)
    fitting = [
        memory
        for memory in memories
        if (memory["key"] or "").partition(":")[0] not in _LIKINGS
        or parse_statement(memory["content"], language).negative == asked.negative
    ]
    return fitting or list(memories)
