"""Evaluates the funnel on labelled messages and the importance score on LoCoMo's turns.

LoCoMo's weak label is "an observation of the data set cites this turn". The measure is the area under the ROC
curve (the chance that a cited turn is ranked above one that is not), beside that of the turn's length alone.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from thoughtcycle.errors import InputRefused
from thoughtcycle.evals.everyday import NOW, passes
from thoughtcycle.evals.everyday_labels import HALVES, SERIES, Half, Series
from thoughtcycle.evals.everyday_labels import load as labelled_messages
from thoughtcycle.evals.locomo import load
from thoughtcycle.evals.retrieval import data_files, halves
from thoughtcycle.language.intents import count_features, sum_points
from thoughtcycle.prompts.loader import LANGUAGES, Language

_CITED = re.compile(r"D:?(\d+):(\d+)")
_PICTURE = re.compile(r" \[[^\]]*\]$")


@dataclass(frozen=True)
class Judged:
    """A turn with its score by the rules, and whether an observation cites it."""

    half: str
    length: int
    points: float
    passed: bool
    cited: bool


@dataclass(frozen=True)
class Score:
    """Figures over the turns of one half, each in [0, 1] but for the count."""

    turns: int
    cited: float
    """Share of turns that an observation cites."""
    auc: float
    """AUC of the importance by rules."""
    auc_of_length: float
    passed: float
    cited_passed: float
    """Shares of all turns, and of the cited ones, that pass the funnel."""


@dataclass(frozen=True)
class FunnelScore:
    """Shares kept and dropped by the funnel for one series, language and half of the labelled messages."""

    series: Series
    language: Language
    half: Half
    keep: int
    kept: float
    """Messages that must be kept, and the share of them that passes."""
    drop: int
    dropped: float
    """Messages that must be dropped, and the share of them that is."""


def score_messages(language: Language, half: Half, series: Series = "first") -> FunnelScore:
    """The labelled messages of one half through layers 1 and 2."""
    passed: dict[bool | None, list[bool]] = {True: [], False: [], None: []}
    for message in labelled_messages(language, half, series):
        passed[message.keep].append(passes(message.text, language, NOW))
    keep, drop = passed[True], passed[False]
    return FunnelScore(series, language, half, len(keep), fmean(keep), len(drop), 1 - fmean(drop))


def wrong(language: Language, series: Series) -> list[str]:
    """Failures in the tuned half; the held-out half is not to be looked at."""
    return [
        f"{message.category}: {message.text!r}: {'lost' if message.keep else 'passed'}"
        for message in labelled_messages(language, "tune", series)
        if message.keep is not None and passes(message.text, language, NOW) != message.keep
    ]


def auc(values: Sequence[float], labels: Sequence[bool]) -> float:
    """Area under the ROC curve (Mann–Whitney U / pairs, ties count half); nan without both classes."""
    known = np.asarray(labels, dtype=bool)
    _, inverse, counts = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    yes, no = int(known.sum()), int((~known).sum())
    return float((ranks[known].sum() - yes * (yes + 1) / 2) / (yes * no)) if yes and no else float("nan")


def evaluate(path: Path) -> dict[str, Score]:
    """The figures per half; raises InputRefused('eval_data')."""
    judged = _judged(path)
    return {half: score([one for one in judged if one.half == half]) for half in ("tune", "held out")}


def score(judged: Sequence[Judged]) -> Score:
    """The figures of some turns, at least one of them cited and one not."""
    cited = [one.cited for one in judged]
    return Score(
        turns=len(judged),
        cited=fmean(cited),
        auc=auc([one.points for one in judged], cited),
        auc_of_length=auc([one.length for one in judged], cited),
        passed=fmean(one.passed for one in judged),
        cited_passed=fmean(one.passed for one in judged if one.cited),
    )


def _judged(path: Path) -> list[Judged]:
    conversations, cited = load(path), _cited(path)
    half = halves(one.name for one in conversations)
    turns = [(one.name, at, turn) for one in conversations for at, turns in one.sessions for turn in turns]
    found = []
    for name, at, turn in turns:
        text = _PICTURE.sub("", turn.text)
        points = sum_points(count_features(text, "en", at))
        passed, is_cited = passes(text, "en", at), turn.id in cited[name]
        found.append(Judged(half[name], len(text), points, passed, is_cited))
    if not any(each.cited for each in found):
        raise InputRefused("eval_data", path=repr(str(path)), expected="locomo10.json (observation)")
    return found


def _cited(path: Path) -> dict[str, frozenset[str]]:
    """Conversation → ids of the turns that its observations cite."""
    (file,) = data_files(path, "locomo10.json")
    cited: dict[str, frozenset[str]] = {}
    for entry in json.loads(file.read_text(encoding="utf-8")):
        places = _CITED.findall(json.dumps(entry.get("observation", {})))
        cited[str(entry["sample_id"])] = frozenset(f"D{int(one)}:{int(two)}" for one, two in places)
    return cited


@dataclass(frozen=True)
class Report:
    """The figures of the labelled messages, and those of LoCoMo where it is at hand."""

    messages: tuple[FunnelScore, ...]
    locomo: dict[str, Score]

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "messages": [asdict(each) for each in self.messages],
            "locomo": {half: asdict(each) for half, each in self.locomo.items()},
        }

    def as_text(self) -> str:
        """Tables, a line per half."""
        lines = [f"{'messages':<20}{'to keep':>10}{'kept':>8}{'to drop':>10}{'dropped':>10}"]
        for one in self.messages:
            name = f"{one.series} {one.language} {one.half}"
            lines.append(f"{name:<20}{one.keep:>10}{one.kept:>8.3f}{one.drop:>10}{one.dropped:>10.3f}")
        if self.locomo:
            head = f"{'LoCoMo':<14}{'turns':>10}{'cited':>8}{'AUC':>10}{'length':>10}{'passed':>10}"
            lines += ["", f"{head}{'cited passed':>14}"]
        row = "{:<14}{:>10}{:>8.3f}{:>10.3f}{:>10.3f}{:>10.3f}{:>14.3f}"
        lines += [row.format(half, *astuple(each)) for half, each in self.locomo.items()]
        return "\n".join(lines)


def report(path: Path | None) -> Report:
    """Scores the labelled messages and, where `path` names it, LoCoMo; raises InputRefused('eval_data')."""
    locomo = evaluate(path) if path is not None else {}
    every = product(SERIES, LANGUAGES, HALVES)
    return Report(tuple(score_messages(language, half, series) for series, language, half in every), locomo)
