"""Scores how the rules reconcile labelled pairs of memories, and on request sentence pairs of SICK-BR."""

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thoughtcycle.errors import InputRefused
from thoughtcycle.evals.everyday import NOW
from thoughtcycle.evals.everyday_labels import HALVES, Half, alternating
from thoughtcycle.evals.retrieval import some
from thoughtcycle.language.facts import Claim, reconcile
from thoughtcycle.language.intents import understand
from thoughtcycle.prompts.loader import LANGUAGES, Language

FOLDER = Path(__file__).parent / "pairs"
FILE = "sick_br_trial_train.tsv"


@dataclass
class Count:
    """Pairs, and how many of them were decided in a certain way."""

    pairs: int = 0
    hits: int = 0
    others: list[str] = field(default_factory=list)
    """The pairs that were decided otherwise."""

    def add(self, hit: bool, what: str) -> None:
        """Counts one pair."""
        self.pairs += 1
        self.hits += hit
        if not hit:
            self.others.append(what)

    @property
    def share(self) -> float:
        """In [0, 1]; 0 of nothing."""
        return self.hits / self.pairs if self.pairs else 0.0


Counts = dict[str, Count]
MEASURES = {
    "corrections superseded": "the right memory is superseded",
    "same merged": "pairs of the same meaning are merged",
    "broader right": "of those merged, the broader one is the labelled one",
    "unrelated merged": "unrelated pairs are merged",
    "unrelated superseded": "one of an unrelated pair is superseded",
    "contradicting merged": "contradicting pairs are merged",
    "contradicting superseded": "the older of a contradicting pair is superseded",
}


def claim_of(text: str, language: Language, id: str = "") -> Claim:
    """A text as a claim: the fact that the rules find in it, else the text itself."""
    facts = understand(text, language=language, now=NOW).facts
    if len(facts) == 1:
        return Claim(facts[0].content, facts[0].kind, facts[0].key, text, id)
    return Claim(text, words=text, id=id)


def score(language: Language, half: Half) -> Counts:
    """Every labelled pair of one half."""
    data = tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    counts = {name: Count() for name in MEASURES}
    _score_corrections(data["correction"], language, half, counts)
    for first, second, *broader in alternating(data["same"], half):
        one, other = claim_of(first, language, "a"), claim_of(second, language, "b")
        forth, back = reconcile(other, [one], language), reconcile(one, [other], language)
        merged = forth.relation == back.relation == "same"  # both orders say so
        counts["same merged"].add(merged, f"{first} | {second}: {forth.relation}, {back.relation}")
        if merged and broader:
            winner = "b" if forth.broader == "fact" else "a"
            counts["broader right"].add(winner == broader[0], f"{first} | {second}: {winner}")
    for first, second, label in alternating(data["different"], half):
        relation = reconcile(
            claim_of(second, language, "b"), [claim_of(first, language, "a")], language
        ).relation
        name = "unrelated" if label == "u" else "contradicting"
        what = f"{first} | {second}: {relation}"
        counts[f"{name} merged"].add(relation == "same", what)
        counts[f"{name} superseded"].add(relation == "newer", what)
    return counts


def _score_corrections(sets: list[Mapping[str, Any]], language: Language, half: Half, counts: Counts) -> None:
    rows = [(each["known"], text, right) for each in sets for text, right in each["said"]]
    for texts, text, right in alternating(rows, half):
        known = [claim_of(each, language, str(number)) for number, each in enumerate(texts)]
        found = reconcile(claim_of(text, language), known, language)
        hit = found.relation == "newer" and found.id == str(right)
        named = texts[int(found.id)] if found.id else ""
        counts["corrections superseded"].add(hit, f"{text} -> {texts[right]}: {found.relation} {named}")


def sick(folder: Path) -> dict[str, Count]:
    """How many pairs of each label of SICK-BR are merged; raises InputRefused('eval_data')."""
    path = folder / FILE if folder.is_dir() else folder
    counts: dict[str, Count] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                pair = row["sentence_A"], row["sentence_B"]
                found = reconcile(Claim(pair[1], words=pair[1]), [Claim(pair[0], id="a")], "pt")
                count = counts.setdefault(row["entailment_label"], Count())
                count.add(found.relation == "same", " | ".join(pair))
        return dict(some(counts.items()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputRefused("eval_data", path=repr(str(folder)), expected=FILE) from error


def evaluate() -> dict[Language, dict[Half, Counts]]:
    """Both halves of both languages."""
    return {language: {half: score(language, half) for half in HALVES} for language in LANGUAGES}


def as_text(results: Mapping[Language, Mapping[Half, Counts]], pairs: Mapping[str, Count]) -> str:
    """A table per language: one line per measure, both halves; and the shares of SICK-BR merged."""
    lines = []
    for language, halves in results.items():
        lines.append(f"{language:<28}" + "".join(f"{half:>20}" for half in halves))
        for name in MEASURES:
            counts = [each[name] for each in halves.values()]
            cells = (f"{one.share:.3f} ({one.hits}/{one.pairs})" for one in counts)
            lines.append(f"{name:<28}" + "".join(f"{cell:>20}" for cell in cells))
        lines.append("")
    for label, count in sorted(pairs.items()):
        lines.append(f"SICK-BR {label:<14} merged {count.share:.4f} ({count.hits}/{count.pairs})")
    return "\n".join(lines).rstrip()


def as_json(results: Mapping[Language, Mapping[Half, Counts]], pairs: Mapping[str, Count]) -> dict[str, Any]:
    """The same figures, for a program."""
    shown: dict[str, Any] = {
        language: {half: {name: count.share for name, count in each.items()} for half, each in halves.items()}
        for language, halves in results.items()
    }
    return {**shown, "sick_br": {label: count.share for label, count in pairs.items()}} if pairs else shown
