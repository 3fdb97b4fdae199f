"""Filters the memories of a topic by the question: person, attitude, no facts that are over (pure)."""

import re
from collections.abc import Collection, Sequence

from thoughtcycle.language.facts import parse_statement
from thoughtcycle.language.intents import speaks_of_self
from thoughtcycle.memory.model import Recalled
from thoughtcycle.memory.redaction import common_words
from thoughtcycle.memory.text import fold, terms
from thoughtcycle.prompts.loader import LANGUAGES, Language, texts

_NAME = re.compile(r"(?<![.!?:;]\s)(?<=\s)[A-ZÀ-Ý][\w-]+")
"""A word written as a name: it does not begin the sentence."""
_ADDRESSED = re.compile(r"^(?:\w+ )?[A-ZÀ-Ý][\w-]+, |, [A-ZÀ-Ý][\w-]+(?=\W*$)")
"""A name that the message addresses: "Hey Sofia, when is the trip?"."""
_LIKINGS = ("taste", "preference", "favorite")
"""Beginnings of the keys under which likes and dislikes stand side by side."""


def answering_memories(
    question: str, memories: Sequence[Recalled], language: Language, keys: Collection[str] = ()
) -> list[Recalled]:
    """The memories without those of other people, of the other attitude, and over: where some are left.

    `keys`: those that answer the question.
    """
    named = _of_named(question, memories, language)
    return _lasting(_of_attitude(question, named, language, pastime="hobby" in keys))


def _lasting(memories: Sequence[Recalled]) -> list[Recalled]:
    """The memories without ended facts, where others are left."""
    ended = tuple(
        texts(each, "actions/memory_update")["rules.no_longer"].split("{{")[0] for each in LANGUAGES
    )
    return [memory for memory in memories if not memory["content"].startswith(ended)] or list(memories)


def _of_named(question: str, memories: Sequence[Recalled], language: Language) -> list[Recalled]:
    """The memories of the people that are named; the user's own answer no question about others."""
    found = _NAME.findall(_ADDRESSED.sub("", question)) if question != question.upper() else []
    named = [name for name in found if fold(name) not in common_words()]  # "March" is nobody
    names = {form for name in named for term in terms(name) for form in term}
    naming = [memory for memory in memories if names & _forms(memory)]
    return naming if naming or (names and not speaks_of_self(question, language)) else list(memories)


def _forms(memory: Recalled) -> set[str]:
    return {form for term in terms(memory["content"]) for form in term}


def _of_attitude(
    question: str, memories: Sequence[Recalled], language: Language, *, pastime: bool
) -> list[Recalled]:
    asked = parse_statement(question, language)
    if not pastime and not {"like", "prefer"}.intersection(asked.concepts):
        return list(memories)
    fitting = [
        memory
        for memory in memories
        if not _is_liking(memory) or parse_statement(memory["content"], language).negative == asked.negative
    ]
    return fitting or list(memories)


def _is_liking(memory: Recalled) -> bool:
    return (memory["key"] or "").partition(":")[0] in _LIKINGS
