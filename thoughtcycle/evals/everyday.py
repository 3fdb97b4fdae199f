"""Scores the rules on everyday messages: kept or dropped, facts, critical data, moods.

Both halves are by the author of the labels, who wrote them before any rule read them: the tuned half may be
looked at when rules are made, the held-out half is only ever scored.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from thoughtcycle.evals.everyday_labels import HALVES, Half, Labelled, found, load
from thoughtcycle.language.facts import critical_in
from thoughtcycle.language.intents import disclosure, understand
from thoughtcycle.language.parse import fold_word
from thoughtcycle.memory.model import CriticalKind
from thoughtcycle.memory.rules import of_message
from thoughtcycle.nodes.formation.judge.rule_judge import felt_in
from thoughtcycle.prompts.loader import LANGUAGES, Language

NOW = datetime(2026, 11, 21, 10, 0)
ALL = "all"


@dataclass
class Tally:
    """Counts for precision and recall: given and right, wanted and found."""

    given: int = 0
    right: int = 0
    wanted: int = 0
    found: int = 0

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
    """(as told and by its name, topic) of the mood that the judge gives the exchange, folded."""
    kept: bool = True
    """Whether the funnel lets it pass."""
    critical: frozenset[CriticalKind] = frozenset()


Read = Callable[[str, Language], Reading]
Tallies = dict[tuple[str, str], Tally]
"""(category, measure) → its tally; the category `all` is the sum."""


def by_rules(text: str, language: Language) -> Reading:
    """Reads a message by the product's rules."""
    understood = understand(text, language=language, now=NOW)
    mood = felt_in(understood.facts)
    felt = [fact.content for fact in understood.facts if fact.kind == "emo"]
    return Reading(
        kept=passes(text, language, NOW),
        critical=frozenset(
            datum.kind for datum in critical_in(text, language=language, now=NOW, cycle="labelled")
        ),
        facts=tuple((fact.kind, fact.content) for fact in understood.facts),
        mood=(fold_word(" ".join([*felt, mood.name])), fold_word(mood.topic)) if mood else None,
    )


def passes(text: str, language: Language, now: datetime) -> bool:
    """Whether a message of the user passes the funnel."""
    told = disclosure(text, language, now)
    return of_message(text, personal=told.personal, unsaid=told.unsaid or told.forgets).passed


def score(messages: Iterable[Labelled], language: Language, read: Read = by_rules) -> Tallies:
    """Counts what is read of the messages against their labels."""
    tallies: Tallies = defaultdict(Tally)
    for message in messages:
        reading = read(message.text, language)
        for measure, tally in tallied(message, reading).items():
            for category in (message.category, ALL):
                _add(tallies[category, measure], tally)
    return tallies


def tallied(message: Labelled, reading: Reading) -> Mapping[str, Tally]:
    """Compares the reading of one message with its labels, by measure."""
    right = [any(each.fits(*fact) for each in message.facts) for fact in reading.facts]
    told = list(found(message.facts, reading.facts))
    keep, drop = message.keep is True, message.keep is False
    critical = reading.critical
    return {
        "kept": Tally(wanted=keep, found=keep and reading.kept),
        "dropped": Tally(wanted=drop, found=drop and not reading.kept),
        "critical": Tally(
            len(critical),
            len(critical & message.allowed),
            len(message.critical),
            len(critical & message.critical),
        ),
        "facts": Tally(len(right), sum(right), len(told), sum(told)),
        "mood": _of_mood(message, reading),
    }


def _of_mood(message: Labelled, reading: Reading) -> Tally:
    given, wanted = reading.mood is not None, message.mood is not None
    if reading.mood is None or message.mood is None:
        return Tally(given=given, wanted=wanted)
    right = all(pattern.search(said) for pattern, said in zip(message.mood, reading.mood, strict=True))
    return Tally(1, right, 1, right)


def _add(total: Tally, more: Tally) -> None:
    total.given += more.given
    total.right += more.right
    total.wanted += more.wanted
    total.found += more.found


COLUMNS = (
    ("kept", "kept", "recall"),
    ("dropped", "dropped", "recall"),
    *(
        (f"{measure} {figure[0].upper()}", measure, figure)
        for measure in ("facts", "critical", "mood")
        for figure in ("precision", "recall")
    ),
)
"""(heading, measure, figure): of what must be kept or dropped only the share that is."""


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
        wrong = [
            name
            for name, tally in tallied(message, reading).items()
            if tally.right < tally.given or tally.found < tally.wanted
        ]
        if wrong:
            lines.append(f"{message.category}: {message.text!r}: {', '.join(wrong)}: {reading}")
    return lines


def as_text(results: Mapping[Language, Mapping[Half, Tallies]]) -> str:
    """One table per language and half, a line per category: shares kept and dropped, then P and R."""
    blocks = []
    for language, halves in results.items():
        for half, tallies in halves.items():
            head = "".join(f"{name:>12}" for name, _, _ in COLUMNS)
            lines = [f"{language + ' ' + half:<20}{head}"]
            for category in dict.fromkeys(category for category, _ in tallies):
                if category != ALL:
                    lines.append(_line(category, tallies))
            blocks.append("\n".join([*lines, _line(ALL, tallies)]))
    return "\n\n".join(blocks)


def _line(category: str, tallies: Tallies) -> str:
    shares = (getattr(tallies[category, measure], figure) for _, measure, figure in COLUMNS)
    return f"{category:<20}" + "".join(f"{_shown(share):>12}" for share in shares)


def _shown(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"


def as_json(results: Mapping[Language, Mapping[Half, Tallies]]) -> dict[str, Any]:
    """The same figures, for a program."""
    return {
        language: {
            half: {
                f"{category}/{measure}": {"precision": tally.precision, "recall": tally.recall}
                for (category, measure), tally in tallies.items()
            }
            for half, tallies in halves.items()
        }
        for language, halves in results.items()
    }
