"""Scores the language rules on labelled messages: `python -m thoughtcycle.evals.rules`.

Prints precision and recall per rule for the tuned and the held-out half, and the share of messages
understood exactly. Both halves are by the author of the rules: the figures guard against regressions and
are no estimate for messages of other people.
"""

import sys
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from thoughtcycle.evals.everyday import NOW
from thoughtcycle.evals.everyday_labels import HALVES, Half
from thoughtcycle.language.intents import Understanding, understand
from thoughtcycle.prompts.loader import LANGUAGES, Language

HERE = Path(__file__).parent / "rules"


def labels(found: Understanding) -> frozenset[str]:
    """The labels of an understanding, in the words of the labelled files."""
    given = [fact.key.split(":")[0] for fact in found.facts]
    given += ["not:" + retraction.key.split(":")[0] for retraction in found.retractions]
    for flag, contexts, keys in (
        ("asked", found.asked, found.asked_keys),
        ("forget", found.forget, found.forget_keys),
    ):
        if contexts:
            given.append(f"{flag}:{'*' if contexts == ('*',) else keys[0].split(':')[0] if keys else '?'}")
    given += [name for name in ("correction", "final", "beyond") if getattr(found, name)]
    return frozenset([*given, found.social] if found.social else given)


@dataclass
class Score:
    """Hits, false alarms and misses per rule."""

    hit: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    exact: int = 0
    messages: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, message: str, expected: frozenset[str], given: frozenset[str]) -> None:
        """Counts one message."""
        self.messages += 1
        self.exact += given == expected
        self.hit.update(given & expected)
        self.wrong.update(given - expected)
        self.missed.update(expected - given)
        if given != expected:
            self.failures.append(f"{message!r}: expected {sorted(expected)}, got {sorted(given)}")

    def ratio(self, rules: frozenset[str]) -> tuple[float, float]:
        """(precision, recall) over some rules; 1.0 where there is nothing to count."""
        counts = (self.hit, self.wrong, self.missed)
        hit, wrong, missed = (sum(count[rule] for rule in rules) for count in counts)
        return (hit / (hit + wrong) if hit + wrong else 1.0), (hit / (hit + missed) if hit + missed else 1.0)

    @property
    def rules(self) -> frozenset[str]:
        """Every rule that occurs."""
        return frozenset(self.hit) | frozenset(self.wrong) | frozenset(self.missed)


def load(language: Language, half: Half) -> list[tuple[str, frozenset[str]]]:
    """The labelled messages of one half."""
    data = tomllib.loads((HERE / f"{language}.toml").read_text(encoding="utf-8"))
    return [(message, frozenset(wanted.split())) for message, wanted in data[half]]


def score(language: Language, half: Half) -> Score:
    """How the rules do on one half."""
    result = Score()
    for message, expected in load(language, half):
        result.add(message, expected, labels(understand(message, language=language, now=NOW)))
    return result


def report(results: dict[Half, Score], language: Language) -> str:
    """A table: one line per rule, precision and recall of both halves."""
    lines = [f"{language}: {'rule':<18}" + "".join(f"{half + ' P':>12}{half + ' R':>12}" for half in results)]
    for rule in sorted(frozenset().union(*(each.rules for each in results.values()))):
        cells = ("{:>12.2f}{:>12.2f}".format(*each.ratio(frozenset({rule}))) for each in results.values())
        lines.append(f"    {rule:<18}{''.join(cells)}")
    totals = ("{:>12.3f}{:>12.3f}".format(*each.ratio(each.rules)) for each in results.values())
    lines.append(f"    {'all':<18}{''.join(totals)}")
    exact = "".join(f"{f'{each.exact}/{each.messages}':>24}" for each in results.values())
    return "\n".join([*lines, f"    {'exact messages':<18}{exact}"])


def main(arguments: list[str]) -> int:
    """Prints the tables; `--failures` also lists what of the tuned half goes wrong."""
    for language in LANGUAGES:
        results: dict[Half, Score] = {half: score(language, half) for half in HALVES}
        sys.stdout.write(report(results, language) + "\n\n")
        if "--failures" in arguments:
            sys.stdout.write("\n".join(results["tune"].failures) + "\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
