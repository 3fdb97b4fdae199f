"""Small talk: sentences of light words only, games, orders, and talk about the assistant (pure).

Sentences come in lower case, without accents, with short forms written out. Reading is linear.
"""

import re
from functools import cache

from thoughtcycle.prompts.loader import LANGUAGES, joined_pattern, word_lists

LIGHT = 12
"""Longest sentence, in words, that is small talk by its light words; a longer one tells a story."""

_REPEATED = re.compile(r"(.)\1+")
_LAUGHTER = re.compile(
    r"(?:a|ba|mua)?(?:h[aeiu]{1,3}){2,}h?|k{2,}|(?:rs){2,}|(?:ja){2,}|(?:ai){2,}|l+(?:ol)+|lma+o+"
)


def _pattern(entry: str) -> re.Pattern[str]:
    return joined_pattern("language/idle", entry)


@cache
def _light_words() -> frozenset[str]:
    lists = (word_lists(language, "language/idle")["light"].split() for language in LANGUAGES)
    return frozenset(_squeezed(word) for words in lists for word in words)


def is_light(word: str) -> bool:
    """Whether a word, also a stretched one ("nossaaa"), says nothing about anybody, or is laughter."""
    return _squeezed(word.removesuffix("'s")) in _light_words() or _LAUGHTER.fullmatch(word) is not None


def without_comparisons(sentence: str) -> str:
    """`sentence` without "as if I were …", which states nothing about the user."""
    return _pattern("as_if").sub(" ", sentence)


def is_play(sentence: str, start: int) -> bool:
    """Whether it begins a game or a role play: nothing in it is meant."""
    return _pattern("play").match(sentence, start) is not None


def is_order(sentence: str, start: int) -> bool:
    """Whether it orders work on a text or the like, at its beginning or behind its lead-in, at `start`."""
    return any(_pattern("requests").match(sentence, at) for at in (0, start))


def is_idle(sentence: str, start: int) -> bool:
    """Whether it is about the world or the assistant, and names nobody else."""
    if _pattern("somebody").search(sentence, start):
        return False
    if sentence.endswith("?") and "," not in sentence[start:]:
        return True
    return any(_pattern(entry).match(sentence, at) for entry in ("asked", "addressed") for at in (0, start))


def _squeezed(word: str) -> str:
    return _REPEATED.sub(r"\1", word)
