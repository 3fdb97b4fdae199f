"""Scores the importance of a message, 0–100, by rules: a weighted sum of features (SM-4).

importance = BASE + sum of POINTS[feature] · feature, at least 1 and at most 100; a message that states a fact
is worth at least FACT, a strong feeling STRONG_FEELING, something critical or a landmark CRITICAL. The points
were fitted by logistic regression on LoCoMo's conversations 1–5 ("is this turn cited by an observation?"),
scaled and rounded; `thoughtcycle eval funnel` measures them on 6–10.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from thoughtcycle.language.intents.understanding import understand
from thoughtcycle.language.parse import compiled, detect_language, fold
from thoughtcycle.prompts.loader import Language, word_lists

READ = 8_000
"""Characters of a message that are counted."""
LONGEST = 60
"""Words from which on length says nothing more."""

TEMPORARY, CONTEXT, CRITICAL = 1, 31, 71
"""Lower ends of the bands of SM-4."""
FACT, STRONG_FEELING = 40, 45
STRONG = 0.85
"""Weight of a feeling from which on it is strong."""

_SENTENCE = re.compile(r"[^.!?…\n]+[.!?…]*")
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_NAME = re.compile(r"(?<=[\w,;] )[A-ZÀ-Ý][a-zà-ÿ]{2,}|[\"“][A-ZÀ-Ý]")


@dataclass(frozen=True)
class Features:
    """Counts of a message that predict its importance."""

    words: float
    """ln(1 + words), at most `LONGEST` of them."""
    telling: float
    """ln(1 + words of sentences that speak of oneself and ask nothing), likewise."""
    asking: float
    """ln(1 + words of questions), likewise."""
    reaction: int
    """1 when it begins by reacting to the other one ("Nice!")."""
    own: int
    """Words for oneself, at most 4."""
    other: int
    """Words for the other one, at most 4."""
    time: int
    """Words of time, at most 3."""
    change: int
    """Words for what one does, likes, plans or lives through, at most 3."""
    names: int
    """Names and quoted titles, at most 3."""
    facts: int
    """Facts that the language rules find, at most 3."""


BASE = -27.0
POINTS: Mapping[str, float] = {
    "words": 16.5,
    "telling": 4.0,
    "asking": -1.5,
    "reaction": -8.0,
    "own": 2.0,
    "other": -3.0,
    "time": 5.0,
    "change": 2.5,
    "names": 4.5,
    "facts": 4.0,
}
_MOST: Mapping[str, int] = {"own": 4, "other": 4, "time": 3, "change": 3}


def count_features(text: str, language: Language, now: datetime) -> Features:
    """Counts a message; `language` decides where its words do not. Linear in its length."""
    spoken = detect_language(text, language)
    folded = fold(text, spoken, READ)
    asking = telling = 0
    for match in _SENTENCE.finditer(folded.text):
        words = len(_WORD.findall(match[0]))
        if match[0].rstrip().endswith("?"):
            asking += words
        elif _pattern("own", spoken).search(match[0]):
            telling += words
    return Features(
        words=_log(len(_WORD.findall(folded.text))),
        telling=_log(telling),
        asking=_log(asking),
        reaction=int(_pattern("reaction", spoken).match(folded.text) is not None),
        names=min(3, len(_NAME.findall(text[:READ]))),
        facts=min(3, len(understand(text, language=language, now=now).facts)),
        **{name: min(most, len(_pattern(name, spoken).findall(folded.text))) for name, most in _MOST.items()},
    )


def score_importance(text: str, language: Language, now: datetime, *, critical: bool = False) -> int:
    """1–100. `critical`: it holds critical data, or tells of a landmark in the user's life."""
    found = understand(text, language=language, now=now).facts
    floor = CRITICAL if critical else TEMPORARY
    for fact in found:
        strong = fact.kind == "emo" and fact.weight >= STRONG
        floor = max(floor, STRONG_FEELING if strong else FACT if fact.kind != "emo" else TEMPORARY)
    return max(floor, min(100, round(sum_points(count_features(text, language, now)))))


def sum_points(counted: Features) -> float:
    """The sum of points; may be negative or above 100."""
    values = asdict(counted)
    return BASE + sum(weight * float(values[name]) for name, weight in POINTS.items())


def _log(words: int) -> float:
    return math.log1p(min(words, LONGEST))


def _pattern(name: str, language: Language) -> re.Pattern[str]:
    return compiled(word_lists(language, "language/importance")[name], language)
