"""PrefEval (Zhao et al., ICLR 2025): whether a question finds the preference that its answer must respect."""

import json
from pathlib import Path

from thoughtcycle.errors import InputRefused
from thoughtcycle.evals.retrieval import (
    Baseline,
    Questionnaire,
    Report,
    data_files,
    fresh_memory,
    halves,
    some,
)
from thoughtcycle.memory.index import Embedder
from thoughtcycle.memory.model import MemoryDraft

_USER = "prefeval"


def load(path: Path) -> list[tuple[str, str, str]]:
    """(topic, preference, question) of the topics' files in the folder; raises InputRefused('eval_data')."""
    try:
        return some(
            (file.stem, str(entry["preference"]), str(entry["question"]))
            for file in data_files(path, "*.json")
            for entry in json.loads(file.read_text(encoding="utf-8"))
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputRefused("eval_data", path=repr(str(path)), expected="*.json") from error


async def evaluate(path: Path, embeddings: Embedder | None) -> Report:
    """Saves all preferences as memories of one user and asks every question."""
    entries = load(path)
    half = halves(topic for topic, _, _ in entries)
    async with fresh_memory(embeddings) as memory:
        drafts = [MemoryDraft(content=preference, kind="pref") for _, preference, _ in entries]
        saved = [one.record for one in await memory.save(_USER, drafts)]
        plain = Baseline({record.id: record.text for record in saved})
        asking = Questionnaire("PrefEval", memory, embeddings)
        for (topic, _, question), record in zip(entries, saved, strict=True):
            relevant, place = frozenset({record.id}), (half[topic], topic)
            await asking.ask(_USER, question, "facts", relevant, plain, place)
    return asking.report()
