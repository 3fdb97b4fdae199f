"""Layers, tags and preferences of an exchange, by word lists (LM-6 … LM-8; pure)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from thoughtcycle.memory.model import PRIORITIES, Layer, LayerMark
from thoughtcycle.memory.text.analyzer import fold
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

SHORT_TERM = timedelta(hours=1)
MEDIUM_TERM = timedelta(days=14)
LONG_EXCHANGE = 200
"""Characters of message and reply together; a longer exchange is medium-term."""
EVENT_WORDS = 2
"""Different event words in an episodic exchange, at least."""
READ = 20_000
"""Characters of a text that are searched for words."""

_SENTENCE = re.compile(r"[^.!?…;\n]+")
_GREETING = re.compile(r"\b(?:boas? (?:tarde|noite)s?|good (?:morning|afternoon|evening|night))\b")
_HOUR = re.compile(r"\bhorario d[ae]s? (\d{1,2})(?:[:h](\d{2})?)?\b")


@dataclass(frozen=True)
class Preference:
    """A preference that the wording of a message shows (LM-7), language-neutral."""

    key: str
    """`communication_preference` or `time_preference`."""
    value: str
    """`email`, `whatsapp`, `message`, `call`; `morning`, `afternoon`, `night`, `business_hours`, `HH:MM`."""
    category: str
    """`communication` or `scheduling`."""


def _entries(name: str) -> list[Any]:
    return [word_lists(language, "language/layers")[name] for language in LANGUAGES]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return _whole_words(_entries(name))


@cache
def _patterns(table: str) -> Mapping[str, re.Pattern[str]]:
    lists = _entries(table)
    return {key: _whole_words(each[key] for each in lists) for key in lists[0]}


def _whole_words(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(f'(?:{each})' for each in patterns)})(?![\w-])")


def layer_marks(message: str, reply: str, at: datetime) -> tuple[LayerMark, ...]:
    """The layers of an exchange that took place at `at` (LM-6); short-term always comes first."""
    tags = tags_of(f"{message}\n{reply}")
    marks = [_mark("short", "conversation", *tags, expires=at + SHORT_TERM)]
    if _is_medium(message, reply):
        marks.append(_mark("medium", *tags, expires=at + MEDIUM_TERM))
    if is_event(message, reply):
        marks.append(_mark("episodic", "significant_event", *tags))
    marks += [_mark("semantic", "preference", each.category) for each in preferences_in(message)]
    return tuple(marks)


def _mark(layer: Layer, *tags: str, expires: datetime | None = None) -> LayerMark:
    return LayerMark(layer=layer, priority=PRIORITIES[layer], expires=expires, tags=tags)


def _is_medium(message: str, reply: str) -> bool:
    """Whether the user asked, a remember-word stands in either text, or they are long together."""
    if "?" in message or len(message) + len(reply) > LONG_EXCHANGE:
        return True
    return any(_pattern("remember").search(_folded(text)) for text in (message, reply))


def is_event(message: str, reply: str) -> bool:
    """Whether both texts together hold two different event words (LM-6)."""
    text = _folded(f"{message[: READ // 2]}\n{reply}")
    return sum(pattern.search(text) is not None for pattern in _patterns("events").values()) >= EVENT_WORDS


def tags_of(text: str) -> tuple[str, ...]:
    """`task`, `agenda`, `communication`, `client`, `project`, as far as a word of theirs occurs (LM-8)."""
    folded = _folded(text)
    return tuple(name for name, pattern in _patterns("tags").items() if pattern.search(folded))


def preferences_in(message: str) -> tuple[Preference, ...]:
    """The channel and the time of day that the user's message prefers, one of each at most (LM-7).

    A time counts only for talking or meeting: who loves to run in the morning may not want to be called then.
    """
    found: dict[str, Preference] = {}
    for sentence in _SENTENCE.finditer(_GREETING.sub(" ", _folded(message))):
        text = sentence[0]
        prefers = _pattern("prefer").search(text)
        if prefers is None or _pattern("not_prefer").search(text):
            continue
        if value := _nearest(_patterns("channels"), text, prefers.start()):
            found.setdefault("c", Preference("communication_preference", value, "communication"))
        time = _hour(text) or _nearest(_patterns("times"), text, 0)
        if time and (_pattern("contact").search(text) or time == "business_hours"):
            found.setdefault("t", Preference("time_preference", time, "scheduling"))
    return tuple(found.values())


def _nearest(table: Mapping[str, re.Pattern[str]], text: str, start: int) -> str | None:
    """The name whose word comes first from `start` on: what is preferred is named before what is not."""
    matches = ((match.start(), name) for name, each in table.items() if (match := each.search(text, start)))
    return min(matches, default=(0, None))[1]


def _hour(text: str) -> str | None:
    match = _HOUR.search(text)
    return f"{int(match[1]):02}:{match[2] or '00'}" if match and int(match[1]) < 24 else None


def _folded(text: str) -> str:
    return fold(text[:READ].replace("’", "'"))
