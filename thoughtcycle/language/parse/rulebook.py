"""The rules for facts of a language, in batches that one pattern tells to be worth trying."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from thoughtcycle.language.parse.patterns import compiled, expand
from thoughtcycle.prompts.loader import Language, word_lists

MemoryKind = Literal["bio", "pref", "emo", "obj"]
FILES = ("facts", "everyday")
BATCH = 12
"""Rules that share a gate: fewer make more gates to pass, more make a gate let more through."""
_FLAGS = ["whole", "dated", "correction", "place", "loose", "verbatim", "alone", "since"]
_FLAGS += ["listed", "renames", "moves", "told", "timeless"]
_BEGINNING = re.compile(r"\{\w+\}")
_GROUP = re.compile(r"\(\?P<\w+>")


@dataclass(frozen=True)
class Rule:
    """The patterns of one statement, and the fact that it makes."""

    topic: str
    kind: MemoryKind | None
    key: str
    content: str
    weight: float
    said: tuple[str, ...]
    unless: str | None
    flags: frozenset[str]
    capital: str | None
    language: Language

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """The patterns that match; compiled when first tried, because most processes try few rules."""
        return tuple(compiled(pattern, self.language) for pattern in self.said)

    @cached_property
    def never(self) -> re.Pattern[str] | None:
        """The pattern that rules a match out."""
        return compiled(self.unless, self.language) if self.unless is not None else None

    def matches(self, text: str, start: int, end: int) -> Iterator[re.Match[str]]:
        """The matches of its patterns at the beginning of the span, where nothing rules them out."""
        for pattern in self.patterns:
            match = pattern.match(text, start, end)
            if match is not None and not (self.never and self.never.match(text, start, end)):
                yield match


@dataclass(frozen=True)
class Batch:
    """Rules in the order in which they are tried."""

    rules: tuple[Rule, ...]
    gate: re.Pattern[str]
    """Matches wherever one of their patterns does."""
    alone: bool
    """Whether one of them reads from another place than the clause's beginning."""

    def may_match(self, text: str, start: int, ends: tuple[int, ...]) -> bool:
        """Whether one of the rules may match from `start` to one of `ends`."""
        return self.alone or any(self.gate.match(text, start, end) for end in dict.fromkeys(ends))


@cache
def rule_batches(language: Language) -> tuple[Batch, ...]:
    """The rules of a language in the order in which they are tried."""
    entries = [entry for name in FILES for entry in word_lists(language, f"language/{name}")["rule"]]
    return tuple(_batch(entries[at : at + BATCH], language) for at in range(0, len(entries), BATCH))


def _batch(entries: list[Mapping[str, Any]], language: Language) -> Batch:
    patterns = [pattern for entry in entries for pattern in entry["patterns"]]
    return Batch(
        rules=tuple(_rule(entry, language) for entry in entries),
        gate=re.compile(gate(patterns, language)),
        alone=any(entry.get("alone") for entry in entries),
    )


def gate(patterns: list[str], language: Language) -> str:
    """One pattern for all: how several begin (`{i}`, `{my}`) is looked for once."""
    rests: dict[str, list[str]] = {}
    for pattern in patterns:
        begins = _BEGINNING.match(pattern)
        head = begins[0] if begins else ""
        rests.setdefault(head, []).append(f"(?:{pattern[len(head) :]})")
    joined = "|".join(f"{head}(?:{'|'.join(some)})" for head, some in rests.items())
    return _GROUP.sub("(?:", expand(joined, language))


def _rule(entry: Mapping[str, Any], language: Language) -> Rule:
    return Rule(
        topic=entry["topic"],
        kind=entry.get("kind"),
        key=entry["key"],
        content=entry["content"],
        weight=entry.get("weight", 1.0),
        said=tuple(entry["patterns"]),
        unless=entry.get("never"),
        flags=frozenset(flag for flag in _FLAGS if entry.get(flag)),
        capital=entry.get("capital"),
        language=language,
    )
