"""Labels of everyday messages: the facts to be found in each."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from thoughtcycle.language.parse import fold_word
from thoughtcycle.memory.model import CRITICAL, CriticalKind
from thoughtcycle.prompts.loader import Language

T = TypeVar("T")
Half = Literal["tune", "held_out"]
HALVES: tuple[Half, ...] = ("tune", "held_out")
Series = Literal["first", "fresh"]
SERIES: tuple[Series, ...] = ("first", "fresh")
"""Messages from the time the rules were made; messages written later without sight of either."""
FOLDER = Path(__file__).parent / "everyday"

_BETWEEN = re.compile(r" +(?=(?:[a-z|]+:|(?:keep|either)\b))")
_CRITICAL: dict[str, CriticalKind] = {kind.partition("_")[2]: kind for kind in CRITICAL}


@dataclass(frozen=True)
class Wanted:
    """A fact that must be found."""

    kinds: frozenset[str]
    """Allowed kinds; empty: any."""
    parts: tuple[re.Pattern[str], ...]
    """Patterns that its text must match."""

    def fits(self, kind: str | None, content: str) -> bool:
        """Whether a fact that was found is this one."""
        text = fold_word(content)
        return (not self.kinds or kind in self.kinds) and all(part.search(text) for part in self.parts)


@dataclass(frozen=True)
class Labelled:
    """A message with its labels."""

    category: str
    text: str
    keep: bool | None
    """Whether it must pass the funnel; None: either."""
    facts: tuple[Wanted, ...] = ()
    critical: frozenset[CriticalKind] = frozenset()
    allowed: frozenset[CriticalKind] = frozenset()
    """Critical kinds that may be found."""
    mood: tuple[re.Pattern[str], re.Pattern[str]] | None = None
    """Patterns of its name and of its topic."""


def alternating(rows: Sequence[T], half: Half) -> list[T]:
    """Every other row: the first, third … are for tuning, the second, fourth … are only ever scored."""
    return list(rows[HALVES.index(half) :: 2])


def load(language: Language, half: Half, series: Series = "first") -> list[Labelled]:
    """The labelled messages of one half, balanced by category."""
    return [labelled(*row) for row in rows(language, half, series)]


def rows(language: Language, half: Half, series: Series = "first") -> list[tuple[str, str, str]]:
    """The messages of one half as (category, text, labels)."""
    name = f"{language}.toml" if series == "first" else f"{series}_{language}.toml"
    data = tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))["messages"]
    return [
        (category, text, labels)
        for category, each in data.items()
        for text, labels in alternating(each, half)
    ]


def labelled(category: str, text: str, labels: str) -> Labelled:
    """A message with parsed labels; raises ValueError for an invalid one."""
    given = _BETWEEN.split(labels) if labels else []
    facts, mood = [], None
    needed: set[CriticalKind] = set()
    allowed: set[CriticalKind] = set()
    for label in given:
        name, _, value = label.partition(":")
        if name == "critical":
            kind = _CRITICAL[value.rstrip("?")]
            (allowed if value.endswith("?") else needed).add(kind)
        elif name == "mood":
            feeling, _, topic = value.partition("/")
            mood = (_pattern(feeling), _pattern(topic))
        elif label not in ("keep", "either"):
            facts.append(_wanted(name, value))
    keep = None if "either" in given else bool(given)
    return Labelled(category, text, keep, tuple(facts), frozenset(needed), frozenset(needed | allowed), mood)


def _wanted(kinds: str, value: str) -> Wanted:
    named = frozenset(kinds.split("|"))
    if not value or named - {"bio", "pref", "emo", "obj", "any"}:
        raise ValueError(f"no label: {kinds}:{value}")
    return Wanted(frozenset() if "any" in named else named, tuple(map(_pattern, value.split("+"))))


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{words})" if words else "")


def found(wanted: Iterable[Wanted], facts: Iterable[tuple[str | None, str]]) -> Iterator[bool]:
    """For each wanted fact, whether it is among `facts` (kind, text)."""
    given = list(facts)
    return (any(each.fits(kind, content) for kind, content in given) for each in wanted)
