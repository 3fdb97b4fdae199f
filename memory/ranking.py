"""How well a memory answers a query: fusion of dense and keyword evidence, then weight and recency (pure)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp, log

from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.memory.words import Term, terms

FLOOR = 0.25
"""Evidence below which a memory has nothing to do with the query: one of four rare words, or cosine 0.33."""
LEXICAL = 0.35
"""Share of keywords in the order of hits, where there are vectors too."""
DENSE_FROM, DENSE_TO = 0.2, 0.7
"""Cosines that count as no and as full evidence; unrelated sentences lie around 0.0 to 0.3."""
CROWDED = 0.5
"""A mean cosine above this says that the model finds everything alike: evidence then begins at the mean."""
HALF_LIFE = timedelta(days=30)
FADING = 0.1
"""Strength that an emotional memory loses per week without reinforcement (HM-7)."""
_FEW_TERMS = 3
_SMALL_SPACE = 50
_K1, _B = 1.2, 0.75


@dataclass(frozen=True)
class KeywordScore:
    """Keyword evidence for one memory."""

    bm25: float
    """Comparable within one query only."""
    coverage: float
    """Share of the query's weight of words that matched, in [0, 1]."""


def idf(documents: int, containing: int) -> float:
    """Weight of a term found in `containing` of `documents`: BM25's, smoothed for small spaces.

    A space of three memories says nothing about how rare a word is, so none counts as smaller than 50
    documents; a term nobody has counts like one that a single document has.
    """
    size, found = max(documents, _SMALL_SPACE), max(containing, 1)
    return log(1 + (size - min(found, size) + 0.5) / (found + 0.5))


def saturation(frequency: float, length: int, mean_length: float) -> float:
    """BM25's factor of a term's frequency, length-normalised (Robertson & Zaragoza 2009, k1 1.2, b 0.75)."""
    norm = 1 - _B + _B * length / mean_length if mean_length else 1.0
    return frequency * (_K1 + 1) / (frequency + _K1 * norm)


def whole(weights: Sequence[float]) -> float:
    """The weight of words that covers a query of these in full.

    It is that of the three weightiest, so that a long message can still be about one thing.
    """
    return sum(sorted(weights, reverse=True)[:_FEW_TERMS])


def dense_evidence(cosine: float, mean: float = 0.0) -> float:
    """A cosine as evidence in [0, 1]; `mean` is the query's mean cosine over the whole space."""
    start = mean if mean > CROWDED else DENSE_FROM
    end = max(DENSE_TO, (1 + start) / 2)
    return min(1.0, max(0.0, (cosine - start) / (end - start)))


def fuse(
    dense: Mapping[int, float],
    keywords: Mapping[int, KeywordScore],
    *,
    mean: float = 0.0,
    floor: float = FLOOR,
) -> dict[int, float]:
    """Memory → relevance in [0, 1], for those whose evidence reaches `floor`.

    Evidence is absolute (the better of dense and keyword evidence), so that a lone hit is not relevant just
    for being the best; the order comes from a min-max blend of cosines and BM25, which beats rank fusion.
    """
    evidence = {id: score.coverage for id, score in keywords.items()}
    for id, cosine in dense.items():
        evidence[id] = max(dense_evidence(cosine, mean), evidence.get(id, 0.0))
    passed = [id for id, value in evidence.items() if value >= floor and value > 0]
    cosines = _stretched({id: dense[id] for id in passed if id in dense})
    best = max((keywords[id].bm25 for id in passed if id in keywords), default=0.0)
    share = 0.0 if not best else LEXICAL if cosines else 1.0
    blend = {id: share * _part(keywords, id, best) + (1 - share) * cosines.get(id, 0.0) for id in passed}
    return {id: evidence[id] * (0.5 + 0.5 * blend[id]) for id in passed}


def _part(keywords: Mapping[int, KeywordScore], id: int, best: float) -> float:
    return keywords[id].bm25 / best if best and id in keywords else 0.0


def _stretched(values: Mapping[int, float]) -> dict[int, float]:
    """Min-max normalised; all 1 when they do not differ."""
    low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
    return {id: (value - low) / (high - low) if high > low else 1.0 for id, value in values.items()}


def strength(record: MemoryRecord, now: datetime) -> float:
    """Base weight with decay, in [0, 1] (HM-7): `bio` stays 1.0, `emo` fades 0.1 a week."""
    if record.kind == "bio":
        return 1.0
    if record.kind != "emo":
        return record.weight
    return max(0.0, record.weight - FADING * max(0.0, age(record, now) / timedelta(weeks=1)))


def age(record: MemoryRecord, now: datetime) -> timedelta:
    """Time since it was last said."""
    return now - max(record.valid_from, record.reinforced_at or record.valid_from)


def rerank(relevance: float, record: MemoryRecord, now: datetime) -> float:
    """HM-9, bounded so that relevance dominates: times weight in 0.7…1 and recency in 0.85…1."""
    recency = exp(-log(2) * max(timedelta(0), age(record, now)) / HALF_LIFE)
    return relevance * (0.7 + 0.3 * strength(record, now)) * (0.85 + 0.15 * recency)


def best_key(query: Iterable[Term], keys: Sequence[str]) -> str | None:
    """The first search key that shares most words with the query; None when none shares any."""
    wanted = list(query)
    counts = {key: _shared(wanted, terms(key)) for key in keys}
    best = max(counts, key=lambda key: counts[key], default=None)
    return best if best is not None and counts[best] else None


def _shared(query: Collection[Term], key: Collection[Term]) -> int:
    known = {form for term in key for form in term}
    return sum(1 for term in query if known.intersection(term))
