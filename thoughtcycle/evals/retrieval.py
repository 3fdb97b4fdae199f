"""Evaluates retrieval: the memory's timed search, BM25 over the same texts as baseline, and their scores."""

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from thoughtcycle.memory.index import Embedder, Postings
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryHit, utc_now
from thoughtcycle.memory.search import Part
from thoughtcycle.memory.text.analyzer import terms

T = TypeVar("T")
Place = tuple[str, str]
"""Half and category of a question."""
CUTS = (5, 10, 20)
MOST = max(CUTS)
"""Results per question."""
ALL = "all"


@dataclass
class Clock:
    """A clock that stands still until it is set."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@asynccontextmanager
async def fresh_memory(
    embeddings: Embedder | None, clock: Callable[[], datetime] = utc_now
) -> AsyncIterator[Memory]:
    """A memory in a temporary file."""
    with TemporaryDirectory() as folder:
        async with Memory.open(f"sqlite:///{folder}/eval.db", embeddings=embeddings, clock=clock) as memory:
            yield memory


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


@dataclass(frozen=True)
class QuestionResult:
    """A question and the ids that the search returned for it."""

    half: str
    category: str
    relevant: frozenset[str]
    """Ids of what should be found; never empty."""
    found: tuple[str, ...]
    """Distinct ids, best first."""
    seconds: float = 0.0
    """Time of the search, the query's embedding aside."""
    embedding_seconds: float = 0.0


@dataclass(frozen=True)
class Score:
    """Means over questions, each in [0, 1]."""

    questions: int
    recall_at_5: float
    recall_at_10: float
    recall_at_20: float
    hit_at_10: float
    all_at_10: float
    """Shares of questions with any, and with all of their evidence among the first 10."""
    mrr: float
    """Mean reciprocal rank of the first evidence, 0 where it is not among the first 20."""


def recall(asked: QuestionResult, cut: int) -> float:
    """Share of the evidence among the first `cut` results."""
    return len(asked.relevant.intersection(asked.found[:cut])) / len(asked.relevant)


def reciprocal_rank(asked: QuestionResult) -> float:
    """1 / rank of the first evidence; 0.0 when none was found."""
    ranks = (rank for rank, id in enumerate(asked.found, 1) if id in asked.relevant)
    return 1 / next(ranks, float("inf"))


def score(asked: Sequence[QuestionResult]) -> Score:
    """The means; `asked` must not be empty."""
    at_10 = [recall(one, 10) for one in asked]
    return Score(
        len(asked),
        **{f"recall_at_{cut}": fmean(recall(one, cut) for one in asked) for cut in CUTS},
        hit_at_10=fmean(value > 0 for value in at_10),
        all_at_10=fmean(value == 1 for value in at_10),
        mrr=fmean(map(reciprocal_rank, asked)),
    )


def scores(asked: Iterable[QuestionResult]) -> dict[str, dict[str, Score]]:
    """Half → category (and `all`) → score, in the order of their first questions."""
    groups: dict[str, dict[str, list[QuestionResult]]] = {}
    for one in asked:
        groups.setdefault(one.half, {}).setdefault(one.category, []).append(one)
    for categories in groups.values():
        categories[ALL] = [one for part in categories.values() for one in part]
    return {half: {name: score(part) for name, part in group.items()} for half, group in groups.items()}


@dataclass(frozen=True)
class Report:
    """The answers of a retrieval evaluation, with the baseline's."""

    data: str
    embeddings: str
    asked: tuple[QuestionResult, ...]
    baseline: tuple[QuestionResult, ...]
    """The same questions, answered by BM25 over stems of each text alone."""

    def as_json(self) -> dict[str, object]:
        """Plain data for JSON: scores per half and category, milliseconds per query."""
        return {
            "data": self.data,
            "embeddings": self.embeddings,
            "scores": _plain(scores(self.asked)),
            "bm25": _plain(scores(self.baseline)),
            "search_ms": round(1_000 * median(one.seconds for one in self.asked), 2),
            "embedding_ms": round(1_000 * median(one.embedding_seconds for one in self.asked), 2),
        }

    def as_text(self) -> str:
        """One table per half, a line per category."""
        lines = [f"{self.data}, embeddings: {self.embeddings}"]
        baseline = scores(self.baseline)
        for half, categories in scores(self.asked).items():
            head = f"{half:<38}" + "".join(f"{name:>9}" for name in _COLUMNS)
            lines += ["", head, *(_line(name, one) for name, one in categories.items())]
            lines.append(_line("all, BM25 over stems", baseline[half][ALL]))
        search, embedding = self.as_json()["search_ms"], self.as_json()["embedding_ms"]
        lines += ["", f"per query (median): search {search} ms, its embedding {embedding} ms"]
        return "\n".join(lines)


_COLUMNS = ("n", "R@5", "R@10", "R@20", "hit@10", "all@10", "MRR")


def _line(name: str, one: Score) -> str:
    questions, *shares = asdict(one).values()
    return f"  {name:<36}{questions:>9}" + "".join(f"{share:>9.3f}" for share in shares)


def _plain(found: dict[str, dict[str, Score]]) -> dict[str, dict[str, dict[str, float]]]:
    return {half: {name: asdict(one) for name, one in part.items()} for half, part in found.items()}


class Questionnaire:
    """Asks a memory questions, and BM25 beside it; collects the results."""

    def __init__(self, data: str, memory: Memory, embeddings: Embedder | None) -> None:
        self._data, self._memory, self._embeddings = data, memory, embeddings
        self._asked: list[QuestionResult] = []
        self._baseline: list[QuestionResult] = []

    async def ask(
        self, user: str, question: str, part: Part, relevant: frozenset[str], plain: Baseline, place: Place
    ) -> None:
        """Asks one question; `place` is its half and category."""
        start = time.perf_counter()
        row = await self._embeddings.aembed_query(question) if self._embeddings is not None else []
        embedded = time.perf_counter()
        vector, search = np.asarray(row, dtype=np.float32), self._memory.search
        hits = await search(user, question, vector=vector, limit=MOST, floor=0.0, include=(part,))
        seconds = time.perf_counter() - embedded
        ids = dict.fromkeys(hit.record.id if isinstance(hit, MemoryHit) else hit.message for hit in hits)
        self._asked.append(QuestionResult(*place, relevant, tuple(ids), seconds, embedded - start))
        self._baseline.append(QuestionResult(*place, relevant, plain.found(question)))

    def report(self) -> Report:
        """The results so far."""
        name = self._embeddings.name if self._embeddings is not None else "none"
        return Report(self._data, name, tuple(self._asked), tuple(self._baseline))
