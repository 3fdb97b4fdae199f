"""The evaluation sets as LangSmith datasets, and the rules run on them as experiments."""

import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import Any
from uuid import UUID

from langsmith import Client

from thoughtcycle.evals import everyday_labels, reconcile
from thoughtcycle.evals.everyday import Reading, by_rules, tallied
from thoughtcycle.language.facts import reconcile as relate
from thoughtcycle.memory.model import named_id
from thoughtcycle.prompts.loader import LANGUAGES, Language

Values = dict[str, Any]
Target = Callable[[Values], Values]
Judge = Callable[[Values, Values, Values], Values]
"""(inputs, outputs, reference_outputs) → LangSmith's evaluation results."""
_AT_ONCE = 500


@dataclass(frozen=True)
class Row:
    """One example."""

    inputs: Values
    outputs: Values
    half: everyday_labels.Half


@dataclass(frozen=True)
class EvalSet:
    """A dataset, what is run on it, and how the outcome is judged."""

    name: str
    rows: Sequence[Row]
    target: Target
    judge: Judge

    def examples(self) -> Iterator[Values]:
        """The examples as LangSmith takes them; an equal one has the same id each time."""
        for row in self.rows:
            id = UUID(named_id("example", self.name, row.half, repr(row.inputs)))
            yield {"id": id, "inputs": row.inputs, "reference_outputs": row.outputs, "split": row.half}


@dataclass(frozen=True)
class Outcome:
    """The result of one experiment."""

    experiment: str
    examples: int
    uploaded: int
    """Examples that the dataset lacked."""
    scores: Mapping[str, float]
    """Measure → mean over the examples that it applies to."""


def sets() -> list[EvalSet]:
    """Everyday messages and pairs of memories, in each language."""
    return [one for language in LANGUAGES for one in (_messages(language), _pairs(language))]


def _messages(language: Language) -> EvalSet:
    rows = [
        Row({"message": text, "language": language}, {"category": category, "labels": wanted}, half)
        for half in everyday_labels.HALVES
        for category, text, wanted in everyday_labels.rows(language, half)
    ]
    return EvalSet(f"thoughtcycle-everyday-{language}", rows, read_message, judge_message)


def read_message(inputs: Values) -> Values:
    """Reads a message by the rules, as plain values."""
    reading = by_rules(inputs["message"], inputs["language"])
    return {
        "kept": reading.kept,
        "facts": [list(fact) for fact in reading.facts],
        "critical": sorted(reading.critical),
        "mood": list(reading.mood) if reading.mood else None,
    }


def judge_message(inputs: Values, outputs: Values, reference_outputs: Values) -> Values:
    """Precision and recall of each measure that the labels or the reading call for."""
    wanted = everyday_labels.labelled(
        reference_outputs["category"], inputs["message"], reference_outputs["labels"]
    )
    reading = Reading(
        facts=tuple((kind, text) for kind, text in outputs["facts"]),
        mood=(outputs["mood"][0], outputs["mood"][1]) if outputs["mood"] else None,
        kept=outputs["kept"],
        critical=frozenset(outputs["critical"]),
    )
    results = [
        {"key": f"{measure}_{figure}", "score": score}
        for measure, tally in tallied(wanted, reading).items()
        for figure in ("precision", "recall")
        if (score := getattr(tally, figure)) is not None
    ]
    return {"results": results}


def _pairs(language: Language) -> EvalSet:
    data = tomllib.loads((reconcile.FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    rows = [
        Row({"known": known, "said": said, "language": language}, wanted, half)
        for half in everyday_labels.HALVES
        for known, said, wanted in _labelled_pairs(data, half)
    ]
    return EvalSet(f"thoughtcycle-pairs-{language}", rows, reconcile_pair, judge_pair)


def _labelled_pairs(
    data: Mapping[str, Any], half: everyday_labels.Half
) -> Iterator[tuple[list[str], str, Values]]:
    corrections = [
        (each["known"], text, right) for each in data["correction"] for text, right in each["said"]
    ]
    for known, text, right in everyday_labels.alternating(corrections, half):
        yield known, text, {"relations": ["newer"], "about": right}
    for first, second, *_ in everyday_labels.alternating(data["same"], half):
        yield [first], second, {"relations": ["same"], "about": 0}
    for first, second, label in everyday_labels.alternating(data["different"], half):
        allowed = ["unrelated"] if label == "u" else ["unrelated", "newer"]
        yield [first], second, {"relations": allowed, "about": None}


def reconcile_pair(inputs: Values) -> Values:
    """Reconciles a said text with the known ones by the rules."""
    language = inputs["language"]
    known = [reconcile.claim_of(text, language, str(number)) for number, text in enumerate(inputs["known"])]
    found = relate(reconcile.claim_of(inputs["said"], language), known, language)
    return {"relation": found.relation, "about": int(found.id) if found.id else None}


def judge_pair(inputs: Values, outputs: Values, reference_outputs: Values) -> Values:
    """Whether the label allows the relation, and the memory that it names."""
    right = outputs["relation"] in reference_outputs["relations"]
    about = reference_outputs["about"]
    return {"key": "relation", "score": right and (about is None or about == outputs["about"])}


def upload(client: Client, one: EvalSet) -> int:
    """Creates the dataset if needed and adds missing examples; returns their number."""
    if not client.has_dataset(dataset_name=one.name):
        client.create_dataset(one.name, description=__doc__)
    there = {example.id for example in client.list_examples(dataset_name=one.name)}
    missing = [example for example in one.examples() if example["id"] not in there]
    for start in range(0, len(missing), _AT_ONCE):
        client.create_examples(dataset_name=one.name, examples=missing[start : start + _AT_ONCE])
    return len(missing)


def run(client: Client, one: EvalSet) -> Outcome:
    """Uploads the set and runs the rules on it as a new experiment."""
    uploaded = upload(client, one)
    found = client.evaluate(
        one.target, data=one.name, evaluators=[one.judge], experiment_prefix=one.name, max_concurrency=2
    )
    judged = [row["evaluation_results"].get("results", []) for row in found]
    scores: dict[str, list[float]] = defaultdict(list)
    for result in chain.from_iterable(judged):
        if result.score is not None:
            scores[result.key].append(float(result.score))
    means = {name: fmean(each) for name, each in sorted(scores.items())}
    return Outcome(found.experiment_name, len(judged), uploaded, means)
