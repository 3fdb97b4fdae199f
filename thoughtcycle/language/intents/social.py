"""Courtesies and talk about the assistant, and requests that rules cannot serve."""

from typing import Literal

from thoughtcycle.language.parse import Message, Sentence, compiled
from thoughtcycle.prompts.loader import Language, word_lists

Social = Literal["greeting", "thanks", "farewell", "smalltalk", "help", "identity", "undo"]
_ORDER: tuple[Social, ...] = ("undo", "identity", "help", "greeting", "thanks", "farewell", "smalltalk")
ANSWERABLE: frozenset[Social] = frozenset({"identity", "help", "smalltalk", "undo"})
"""Questions of these kinds have an answer by rules."""


def social_in(message: Message, sentence: Sentence, language: Language) -> frozenset[Social]:
    """The courtesies of a sentence."""
    text = message.text(sentence).strip(" \n,.!?*")
    words = word_lists(language, "language/social")
    return frozenset(name for name in _ORDER if compiled(words[name], language).search(text))


def nods(message: Message, sentence: Sentence, language: Language) -> bool:
    """Whether a sentence only acknowledges ("ok", "sério?")."""
    text = message.text(sentence).strip(" \n,.!?*")
    return compiled(word_lists(language, "language/social")["nods"], language).fullmatch(text) is not None


def first(found: frozenset[Social]) -> Social | None:
    """The courtesy that the reply should answer."""
    return next((name for name in _ORDER if name in found), None)


def requests_work(message: Message, sentence: Sentence, language: Language) -> bool:
    """Whether a sentence asks for something to be written, translated, computed, explained …"""
    pattern = compiled(word_lists(language, "language/social")["beyond"], language)
    return any(
        clause.mood != "reported" and pattern.match(message.folded.text, clause.start, sentence.end)
        for clause in sentence.clauses
    )
