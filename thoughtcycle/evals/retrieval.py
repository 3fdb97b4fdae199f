"""Retrieval for evaluations: the memory's own search, timed, and BM25 over the same texts as baseline."""

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from thoughtcycle.evals.retrieval_scores import MOST
from thoughtcycle.memory.index import Embedder, Postings
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryHit, utc_now
from thoughtcycle.memory.search import Part
from thoughtcycle.memory.text import terms

T = TypeVar("T")


@asynccontextmanager
async def fresh_memory(
    embeddings: Embedder | None, clock: Callable[[], datetime] = utc_now
) -> AsyncIterator[Memory]:
    """A memory in a file that is gone afterwards."""
    with TemporaryDirectory() as folder:
        async with Memory.open(f"sqlite:///{folder}/eval.db", embeddings=embeddings, clock=clock) as memory:
            yield memory


async def timed_search(
    memory: Memory, embeddings: Embedder | None, user: str, question: str, part: Part
) -> dict[str, Any]:
    """Ids found, best first, and the seconds that search and embedding took, as fields of `Asked`."""
    start = time.perf_counter()
    row = await embeddings.aembed_query(question) if embeddings is not None else []
    embedded = time.perf_counter()
    vector = np.asarray(row, dtype=np.float32)
    hits = await memory.search(user, question, vector=vector, limit=MOST, floor=0.0, include=(part,))
    done = time.perf_counter()
    found = (hit.record.id if isinstance(hit, MemoryHit) else hit.message for hit in hits)
    return {
        "found": tuple(dict.fromkeys(found)),
        "seconds": done - embedded,
        "embedding_seconds": embedded - start,
    }


class Baseline:
    """BM25 over stems, each text by itself."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """`texts`: id → text."""
        self._ids = list(texts)
        self._postings = Postings()
        for number, text in enumerate(texts.values()):
            self._postings.add(number, (text,))

    def found(self, question: str) -> tuple[str, ...]:
        """Ids, best first."""
        words = self._postings.search(terms(question), most=len(self._ids))
        order = np.lexsort((words.documents, -words.share))[:MOST]
        return tuple(self._ids[number] for number in words.documents[order].tolist())


def halves(values: Iterable[str]) -> dict[str, str]:
    """Value → its half: the first half of the distinct values is for tuning, the rest is held out."""
    distinct = list(dict.fromkeys(values))
    middle = len(distinct) // 2
    return {value: "tune" if place < middle else "held out" for place, value in enumerate(distinct)}


def data_files(path: Path, name: str) -> list[Path]:
    """`path` itself, or the files called `name` in the folder `path`, by name."""
    return sorted(path.glob(name)) if path.is_dir() else [path]


def some(values: Iterable[T]) -> list[T]:
    """`values`; raises ValueError when there are none."""
    found = list(values)
    if not found:
        raise ValueError("no entries")
    return found
