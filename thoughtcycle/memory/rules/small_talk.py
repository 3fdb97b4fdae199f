"""Whether a sentence tells nothing of anybody: light words only, or asked and told of the assistant (pure).

Sentences are plain: in lower case, without accents, with short forms written out. Reading is linear.
"""

import re
from dataclasses import dataclass
from functools import cache

from thoughtcycle.prompts.loader import LANGUAGES, word_lists

LIGHT = 12
"""Words of a sentence up to which light words say nothing; more of them tell a story."""

_REPEATED = re.compile(r"(.)\1+")
_LAUGHTER = re.compile(
    r"(?:a|ba|mua)?(?:h[aeiu]{1,3}){2,}h?|k{2,}|(?:rs){2,}|(?:ja){2,}|(?:ai){2,}|l+(?:ol)+|lma+o+"
)
_PATTERNS = ("asked", "requests", "play", "addressed", "as_if", "somebody")


@dataclass(frozen=True)
class _Lists:
    light: frozenset[str]
    phrases: tuple[str, ...]
    asked: re.Pattern[str]
    requests: re.Pattern[str]
    play: re.Pattern[str]
    addressed: re.Pattern[str]
    as_if: re.Pattern[str]
    somebody: re.Pattern[str]


@cache
def _lists() -> _Lists:
    data = [word_lists(language, "language/idle") for language in LANGUAGES]
    return _Lists(
        light=frozenset(_squeezed(word) for each in data for word in each["light"].split()),
        phrases=tuple(phrase for each in data for phrase in each["phrases"]),
        **{name: re.compile("|".join(f"(?:{each[name]})" for each in data)) for name in _PATTERNS},
    )


def phrases() -> tuple[str, ...]:
    """Patterns of remarks on the time of the year."""
    return _lists().phrases


def is_light(word: str) -> bool:
    """Whether a word says nothing of anybody, however it is stretched ("nossaaa"), or is laughter."""
    return _squeezed(word.removesuffix("'s")) in _lists().light or _LAUGHTER.fullmatch(word) is not None


def without_comparisons(sentence: str) -> str:
    """`sentence` without "as if I were …", which claims nothing of the user."""
    return _lists().as_if.sub(" ", sentence)


def is_play(sentence: str, start: int) -> bool:
    """Whether it begins a game or gives out roles: nothing in it is meant."""
    return _lists().play.match(sentence, start) is not None


def is_order(sentence: str, start: int) -> bool:
    """Whether it orders work on a text or the like, at its beginning or behind what leads in."""
    requests = _lists().requests
    return bool(requests.match(sentence) or requests.match(sentence, start))


def is_idle(sentence: str, start: int) -> bool:
    """Whether it asks about the world or the assistant, or remarks on the latter, and names nobody else."""
    lists = _lists()
    if lists.somebody.search(sentence, start):
        return False
    asks = sentence.endswith("?") and "," not in sentence[start:]
    return asks or any(
        pattern.match(sentence, at) for pattern in (lists.asked, lists.addressed) for at in (0, start)
    )


def _squeezed(word: str) -> str:
    return _REPEATED.sub(r"\1", word)
