"""Scores of retrieval: recall, hits, all evidence, reciprocal rank; and their tables."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

CUTS = (5, 10, 20)
MOST = max(CUTS)
"""Results asked for."""
ALL = "all"


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
    """Share of questions with any evidence among the first 10."""
    all_at_10: float
    """Share of questions with all their evidence among the first 10."""
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
    recalls = {cut: [recall(one, cut) for one in asked] for cut in CUTS}
    return Score(
        questions=len(asked),
        recall_at_5=_mean(recalls[5]),
        recall_at_10=_mean(recalls[10]),
        recall_at_20=_mean(recalls[20]),
        hit_at_10=_mean([value > 0 for value in recalls[10]]),
        all_at_10=_mean([value == 1 for value in recalls[10]]),
        mrr=_mean([reciprocal_rank(one) for one in asked]),
    )


def scores(asked: Iterable[QuestionResult]) -> dict[str, dict[str, Score]]:
    """Half → category (and `all`) → score, in the order in which they first come."""
    groups: dict[str, dict[str, list[QuestionResult]]] = {}
    for one in asked:
        half = groups.setdefault(one.half, {})
        half.setdefault(one.category, []).append(one)
    return {
        half: {
            **{category: score(part) for category, part in categories.items()},
            ALL: score([one for part in categories.values() for one in part]),
        }
        for half, categories in groups.items()
    }


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
            "search_ms": self._milliseconds([one.seconds for one in self.asked]),
            "embedding_ms": self._milliseconds([one.embedding_seconds for one in self.asked]),
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

    @staticmethod
    def _milliseconds(seconds: Sequence[float]) -> float:
        return round(median(seconds) * 1_000, 2)


_COLUMNS = ("n", "R@5", "R@10", "R@20", "hit@10", "all@10", "MRR")


def _line(name: str, one: Score) -> str:
    questions, *shares = asdict(one).values()
    return f"  {name:<36}{questions:>9}" + "".join(f"{share:>9.3f}" for share in shares)


def _plain(found: dict[str, dict[str, Score]]) -> dict[str, dict[str, dict[str, float]]]:
    return {half: {name: asdict(one) for name, one in part.items()} for half, part in found.items()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
