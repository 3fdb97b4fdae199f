"""PrefEval (Zhao et al., ICLR 2025): does a question bring the preference that its answer must respect?"""

import json
from pathlib import Path

from thoughtcycle.evals.asking import Baseline, asked, found_at, fresh_memory, halves, some
from thoughtcycle.evals.measures import Asked, Report
from thoughtcycle.memory.embedder import Embedder
from thoughtcycle.memory.records import MemoryDraft
from thoughtcycle.prompts.errors import InputRefused

_USER = "prefeval"


def load(path: Path) -> list[tuple[str, str, str]]:
    """(topic, preference, question) of the topics' files in the folder; raises InputRefused('eval_data')."""
    try:
        return some(
            (file.stem, str(entry["preference"]), str(entry["question"]))
            for file in found_at(path, "*.json")
            for entry in json.loads(file.read_text(encoding="utf-8"))
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputRefused("eval_data", path=repr(str(path)), expected="*.json") from error


async def evaluate(path: Path, embeddings: Embedder | None) -> Report:
    """Saves all preferences as memories of one user and asks every question."""
    entries = load(path)
    half = halves(topic for topic, _, _ in entries)
    answers, baseline = [], []
    async with fresh_memory(embeddings) as memory:
        drafts = [MemoryDraft(content=preference, kind="pref") for _, preference, _ in entries]
        saved = [one.record for one in await memory.save(_USER, drafts)]
        plain = Baseline({record.id: record.text for record in saved})
        for (topic, _, question), record in zip(entries, saved, strict=True):
            relevant = frozenset({record.id})
            found = await asked(memory, embeddings, _USER, question, "facts")
            answers.append(Asked(half[topic], topic, relevant, **found))
            baseline.append(Asked(half[topic], topic, relevant, plain.found(question)))
    name = embeddings.name if embeddings is not None else "none"
    return Report("PrefEval", name, tuple(answers), tuple(baseline))
