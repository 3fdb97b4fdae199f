"""Scores the rules on everyday messages: kept or dropped, facts, critical data, moods.

The labels were written before any rule read the messages: the tuned half may be looked at when rules are
made, the held-out half is only ever scored.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any

from thoughtcycle.evals.everyday_labels import HALVES, Half, Labelled, found, load
from thoughtcycle.language.facts import critical_in
from thoughtcycle.language.intents import disclosure, understand
from thoughtcycle.language.parse import fold_word
from thoughtcycle.memory.model import CriticalKind
from thoughtcycle.memory.rules.relevance_filter import filter_message
from thoughtcycle.nodes.formation.judge.rule_judge import felt_in
from thoughtcycle.prompts.loader import LANGUAGES, Language

NOW = datetime(2026, 11, 21, 10, 0)
ALL = "all"


@dataclass(frozen=True)
class Tally:
    """Counts for precision and recall: given and right, wanted and found."""

    given: int = 0
    right: int = 0
    wanted: int = 0
    found: int = 0

    def __add__(self, more: "Tally") -> "Tally":
        counts = zip(astuple(self), astuple(more), strict=True)
        return Tally(*(one + other for one, other in counts))

    @property
    def precision(self) -> float | None:
        """Right of what was given; None when nothing was."""
        return self.right / self.given if self.given else None

    @property
    def recall(self) -> float | None:
        """Found of what was wanted; None when nothing was."""
        return self.found / self.wanted if self.wanted else None


@dataclass(frozen=True)
class Reading:
    """The reading of one message by the rules."""

    facts: tuple[tuple[str | None, str], ...] = ()
    """(kind, text)."""
    mood: tuple[str, str] | None = None
    """(words and name, topic) of the judge's mood, folded."""
    kept: bool = True
    """Whether it passes the funnel."""
    critical: frozenset[CriticalKind] = frozenset()


Read = Callable[[str, Language], Reading]
Tallies = dict[tuple[str, str], Tally]
"""(category, measure) → its tally; the category `all` is the sum."""


def by_rules(text: str, language: Language) -> Reading:
    """Reads a message by the product's rules."""
    facts = understand(text, language=language, now=NOW).facts
    critical = critical_in(text, language=language, now=NOW, cycle="labelled")
    mood = felt_in(facts)
    felt = [fact.content for fact in facts if fact.kind == "emo"]
    return Reading(
        facts=tuple((fact.kind, fact.content) for fact in facts),
        mood=(fold_word(" ".join([*felt, mood.name])), fold_word(mood.topic)) if mood else None,
        kept=passes(text, language, NOW),
        critical=frozenset(datum.kind for datum in critical),
    )


def passes(text: str, language: Language, now: datetime) -> bool:
    """Whether a message of the user passes the funnel."""
    found = disclosure(text, language, now)
    return filter_message(text, personal=found.personal, unsaid=found.unsaid or found.forgets).passed


def score(messages: Iterable[Labelled], language: Language, read: Read = by_rules) -> Tallies:
    """Compares the readings of the messages with their labels."""
    tallies: Tallies = defaultdict(Tally)
    for message in messages:
        for measure, tally in tallied(message, read(message.text, language)).items():
            for category in (message.category, ALL):
                tallies[category, measure] += tally
    return tallies


def tallied(message: Labelled, reading: Reading) -> Mapping[str, Tally]:
    """Compares the reading of one message with its labels, by measure."""
    right = [any(each.fits(*fact) for each in message.facts) for fact in reading.facts]
    hits = list(found(message.facts, reading.facts))
    keep, drop = message.keep is True, message.keep is False
    given, wanted = reading.critical, message.critical
    moods = reading.mood or (), message.mood or ()
    felt = all(moods) and all(pattern.search(text) for text, pattern in zip(*moods, strict=True))
    return {
        "kept": Tally(wanted=keep, found=keep and reading.kept),
        "dropped": Tally(wanted=drop, found=drop and not reading.kept),
        "critical": Tally(len(given), len(given & message.allowed), len(wanted), len(given & wanted)),
        "facts": Tally(len(right), sum(right), len(hits), sum(hits)),
        "mood": Tally(bool(moods[0]), felt, bool(moods[1]), felt),
    }


COLUMNS = (
    ("kept", "kept", "recall"),
    ("dropped", "dropped", "recall"),
    *(
        (f"{measure} {figure[0].upper()}", measure, figure)
        for measure in ("facts", "critical", "mood")
        for figure in ("precision", "recall")
    ),
)
"""(heading, measure, figure); kept and dropped have no precision."""


def evaluate() -> dict[Language, dict[Half, Tallies]]:
    """Every labelled message of both languages, by the product's rules."""
    return {
        language: {half: score(load(language, half), language) for half in HALVES} for language in LANGUAGES
    }


def failures(language: Language, read: Read = by_rules) -> list[str]:
    """Failures in the tuned half; the held-out half is not to be looked at."""
    lines = []
    for message in load(language, "tune"):
        reading = read(message.text, language)
        tallies = tallied(message, reading).items()
        wrong = [name for name, one in tallies if one.right < one.given or one.found < one.wanted]
        if wrong:
            lines.append(f"{message.category}: {message.text!r}: {', '.join(wrong)}: {reading}")
    return lines


def as_text(results: Mapping[Language, Mapping[Half, Tallies]]) -> str:
    """One table per language and half, a line per category: shares kept and dropped, then P and R."""
    blocks = []
    for language, halves in results.items():
        for half, tallies in halves.items():
            head = "".join(f"{name:>12}" for name, _, _ in COLUMNS)
            categories = dict.fromkeys(category for category, _ in tallies if category != ALL)
            lines = [f"{language + ' ' + half:<20}{head}"]
            for category in (*categories, ALL):
                shares = [getattr(tallies[category, measure], figure) for _, measure, figure in COLUMNS]
                cells = ("–" if share is None else f"{share:.3f}" for share in shares)
                lines.append(f"{category:<20}" + "".join(f"{cell:>12}" for cell in cells))
            blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def as_json(results: Mapping[Language, Mapping[Half, Tallies]]) -> dict[str, Any]:
    """The same figures as plain data for JSON."""
    return {
        language: {
            half: {
                "/".join(key): {"precision": tally.precision, "recall": tally.recall}
                for key, tally in tallies.items()
            }
            for half, tallies in halves.items()
        }
        for language, halves in results.items()
    }
