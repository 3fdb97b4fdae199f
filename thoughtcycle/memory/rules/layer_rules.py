"""The layers an exchange is seen in, its tags, and the preferences it shows, by word lists (LM-6 … LM-8)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from thoughtcycle.memory.model import LayerMark
from thoughtcycle.memory.text import fold
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

SHORT_TERM = timedelta(hours=1)
MEDIUM_TERM = timedelta(days=14)
SHORT_PRIORITY, MEDIUM_PRIORITY, EPISODIC_PRIORITY, SEMANTIC_PRIORITY = 10.0, 7.0, 8.0, 6.0
LONG_EXCHANGE = 200
"""Characters of message and reply together beyond which an exchange is medium-term."""
EVENT_WORDS = 2
"""Different event words that make an exchange episodic."""
READ = 20_000
"""Characters of a text in which words are looked for."""

_SENTENCE = re.compile(r"[^.!?…;\n]+")
_GREETING = re.compile(r"\b(?:boas? (?:tarde|noite)s?|good (?:morning|afternoon|evening|night))\b")
_HOUR = re.compile(r"\bhorario d[ae]s? (\d{1,2})(?:[:h](\d{2})?)?\b")


@dataclass(frozen=True)
class Preference:
    """A preference that the wording shows (LM-7), language-neutral."""

    key: str
    """`communication_preference` or `time_preference`."""
    value: str
    """`email`, `whatsapp`, `message`, `call`; `morning`, `afternoon`, `night`, `business_hours`, `HH:MM`."""
    category: str
    """`communication` or `scheduling`."""


@dataclass(frozen=True)
class _Words:
    remember: re.Pattern[str]
    prefer: re.Pattern[str]
    not_prefer: re.Pattern[str]
    contact: re.Pattern[str]
    events: Mapping[str, re.Pattern[str]]
    channels: Mapping[str, re.Pattern[str]]
    times: Mapping[str, re.Pattern[str]]
    tags: Mapping[str, re.Pattern[str]]


@cache
def _words() -> _Words:
    data = [word_lists(language, "language/layers") for language in LANGUAGES]

    def table(name: str) -> Mapping[str, re.Pattern[str]]:
        return {key: _any(*(each[name][key] for each in data)) for key in data[0][name]}

    return _Words(
        remember=_any(*(each["remember"] for each in data)),
        prefer=_any(*(each["prefer"] for each in data)),
        not_prefer=_any(*(each["not_prefer"] for each in data)),
        contact=_any(*(each["contact"] for each in data)),
        events=table("events"),
        channels=table("channels"),
        times=table("times"),
        tags=table("tags"),
    )


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(f'(?:{each})' for each in patterns)})(?![\w-])")


def marks_of(message: str, reply: str, at: datetime) -> tuple[LayerMark, ...]:
    """The layers of an exchange that took place at `at` (LM-6); short-term always comes first."""
    tags = tags_of(f"{message}\n{reply}")
    marks = [
        LayerMark(
            layer="short", priority=SHORT_PRIORITY, expires=at + SHORT_TERM, tags=("conversation", *tags)
        )
    ]
    if _is_medium(message, reply):
        marks.append(LayerMark(layer="medium", priority=MEDIUM_PRIORITY, expires=at + MEDIUM_TERM, tags=tags))
    if is_event(message, reply):
        marks.append(
            LayerMark(layer="episodic", priority=EPISODIC_PRIORITY, tags=("significant_event", *tags))
        )
    for each in preferences_in(message):
        marks.append(
            LayerMark(layer="semantic", priority=SEMANTIC_PRIORITY, tags=("preference", each.category))
        )
    return tuple(marks)


def _is_medium(message: str, reply: str) -> bool:
    """Whether the user asked, a remember-word stands in either text, or they are long together."""
    if "?" in message or len(message) + len(reply) > LONG_EXCHANGE:
        return True
    return any(_words().remember.search(_folded(text)) for text in (message, reply))


def is_event(message: str, reply: str) -> bool:
    """Whether both texts together hold two different event words (LM-6)."""
    text = _folded(f"{message[: READ // 2]}\n{reply}")
    return sum(pattern.search(text) is not None for pattern in _words().events.values()) >= EVENT_WORDS


def tags_of(text: str) -> tuple[str, ...]:
    """`task`, `agenda`, `communication`, `client`, `project`, as far as a word of theirs occurs (LM-8)."""
    folded = _folded(text)
    return tuple(name for name, pattern in _words().tags.items() if pattern.search(folded))


def preferences_in(message: str) -> tuple[Preference, ...]:
    """The channel and the time of day that the user's message prefers, one of each at most (LM-7).

    A time counts only for talking or meeting: who loves to run in the morning may not want to be called then.
    """
    found: dict[str, Preference] = {}
    for sentence in _SENTENCE.finditer(_GREETING.sub(" ", _folded(message))):
        text = sentence[0]
        prefers = _words().prefer.search(text)
        if prefers is None or _words().not_prefer.search(text):
            continue
        if value := _nearest(_words().channels, text, prefers.start()):
            found.setdefault("c", Preference("communication_preference", value, "communication"))
        time = _hour(text) or _nearest(_words().times, text, 0)
        if time and (_words().contact.search(text) or time == "business_hours"):
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
