"""Fusion, floor, strength and the bounded rerank, as tables."""

from collections.abc import Sequence
from datetime import timedelta
from math import log, nan

import numpy as np
import pytest

from support.memories import START, record
from thoughtcycle.memory.index.ranking import (
    best_key,
    dense_evidence,
    full_weight,
    fuse,
    idf,
    layer_score,
    rerank,
    spread,
    strength,
)
from thoughtcycle.memory.text.analyzer import terms


def fused(rows: Sequence[tuple[float, float, float]], **options: float) -> list[float]:
    """Relevance of candidates given as (cosine, share, coverage)."""
    cosines, share, coverage = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return fuse(cosines, share, coverage, **options).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("cosine", "mean", "expected"),
    [(0.2, 0.0, 0.0), (0.45, 0.0, 0.5), (0.7, 0.0, 1.0), (0.95, 0.0, 1.5), (-0.3, 0.0, -1), (0.8, 0.8, 0.0)],
)
def test_a_cosine_is_evidence_only_beyond_what_is_usual(cosine: float, mean: float, expected: float) -> None:
    assert dense_evidence(cosine, mean) == pytest.approx(expected)


def test_a_model_that_finds_everything_alike_still_tells_a_match() -> None:
    assert dense_evidence(0.9, mean=0.8) >= 0.9
    assert dense_evidence(0.82, mean=0.8) < 0.25


def test_a_lone_hit_is_not_relevant_for_being_the_best() -> None:
    assert fused([(0.3, 0, 0)]) == [0]
    assert fused([(0.6, 0, 0)]) == [pytest.approx(0.8)]
    assert fused([(nan, 0.9, 0.1)]) == [0]
    assert fused([(nan, 0.1, 1.0)]) == [1]
    assert fused([]) == []


def test_either_kind_of_evidence_suffices_and_both_rank_first() -> None:
    first, second, third, none = fused([(0.6, 0.5, 0.8), (0.6, 0, 0), (0.1, 0.5, 0.8), (0.1, 0, 0)])
    assert first > max(second, third) >= min(second, third) > none == 0
    assert first <= 1


def test_keywords_lead_where_they_say_much_of_the_query() -> None:
    near = (0.6, 0.0, 0.0)
    told, hinted = (0.3, 0.5, 0.5), (0.3, 0.1, 0.5)
    first, second = fused([near, told])
    assert second > first
    first, second = fused([near, hinted])
    assert first > second


def test_what_has_no_vector_competes_by_its_words() -> None:
    first, second = fused([(nan, 0.5, 0.8), (0.5, 0.0, 0.0)])
    assert first > second > 0


def test_the_floor_can_be_lowered_and_raised() -> None:
    rows = [(0.3, 0, 0), (0.5, 0, 0), (0.1, 0, 0)]
    assert [value > 0 for value in fused(rows, floor=0.0)] == [True, True, False]
    assert fused(rows, floor=0.9) == [0, 0, 0]


def test_a_word_is_heard_two_messages_around() -> None:
    links = np.arange(6)
    before, after = links - 1, np.append(links[1:], -1)
    said = np.array([2]), np.ones(1, np.float32)
    assert spread(*said, before, after, 6).tolist() == [0.5, 1, 3, 2, 1, 0]
    twice = np.array([0, 5]), np.array([1, 2], np.float32)
    assert spread(*twice, before, after, 6).tolist() == [3, 2, 1, 1, 2, 6]


@pytest.mark.parametrize("seed", range(20))
def test_relevance_stays_between_nothing_and_all(seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows = chance.uniform((-1, 0, 0), (1, 1, 1), (50, 3))
    rows[chance.random(50) < 0.2, 0] = nan
    relevance = fuse(*rows.T, mean=float(chance.random()), floor=float(chance.random()))
    assert ((relevance >= 0) & (relevance <= 1)).all()


def test_a_rare_word_weighs_more_and_a_small_space_says_nothing_of_rarity() -> None:
    assert idf(10_000, 1) > idf(10_000, 100) > idf(10_000, 10_000) > 0
    assert idf(2, 2) > idf(1_000, 900)
    assert idf(100, 0) == idf(100, 1)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [([], 0.0), ([1.0], 1.0), ([1.0, 2.0], 3.0), ([0.5, 2.0, 1.0, 3.0], 6.0), ([1.0] * 30, 3.0)],
)
def test_a_query_is_covered_by_its_weightiest_words(weights: list[float], expected: float) -> None:
    assert full_weight(weights) == pytest.approx(expected)


@pytest.mark.spec("HM-7")
@pytest.mark.parametrize(
    ("kind", "weight", "weeks", "expected"),
    [
        ("bio", 0.4, 100, 1.0),
        ("pref", 0.8, 100, 0.8),
        ("emo", 0.8, 0, 0.8),
        ("emo", 0.8, 3, 0.5),
        ("emo", 0.8, 50, 0.0),
        (None, 0.6, 9, 0.6),
    ],
)
def test_strength(kind: str | None, weight: float, weeks: int, expected: float) -> None:
    memory = record(kind=kind, weight=weight)
    assert strength(memory, START + timedelta(weeks=weeks)) == pytest.approx(expected)


@pytest.mark.spec("HM-7")
def test_reinforcement_starts_the_decay_anew() -> None:
    memory = record(kind="emo", weight=0.8, reinforced_at=START + timedelta(weeks=4))
    assert strength(memory, START + timedelta(weeks=5)) == pytest.approx(0.7)


@pytest.mark.spec("HM-9")
@pytest.mark.parametrize(
    ("weight", "days", "expected"),
    [(1.0, 0, 1.0), (0.0, 0, 0.7), (1.0, 30, 0.925), (1.0, 100_000, 0.85), (0.5, 30, 0.85 * 0.925)],
)
def test_weight_and_recency_are_bounded(weight: float, days: int, expected: float) -> None:
    assert rerank(1.0, record(weight=weight), START + timedelta(days=days)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [("minha dieta", "dieta"), ("nome", None), ("odeia coentro", "Odeia coentro"), ("", None)],
)
def test_the_key_that_matched(query: str, expected: str | None) -> None:
    assert best_key(terms(query), ("Odeia coentro", "dieta", "diet")) == expected


@pytest.mark.spec("LM-4")
@pytest.mark.parametrize(
    ("priority", "days", "similarity", "accesses", "expected"),
    [
        (10, 0, 1.0, 0, 8.0),
        (10, 30, 1.0, 0, 6.0),
        (5, 60, 0.5, 0, 1.5),
        (1, 0, 0.0, 0, 0.4),
        (6, 30, 0.5, 9, 6 * (0.2 + 0.2 + 0.02 * log(10))),
        (10, 0, 1.0, 10**9, 8 + 2 * log(10**9 + 1) / 10),
        (10, 0, 1.0, 10**20, 10.0),
        (10, -5, 1.0, 0, 8.0),
    ],
)
def test_relevance_within_a_layer(
    priority: float, days: float, similarity: float, accesses: int, expected: float
) -> None:
    found = layer_score(priority, timedelta(days=days), similarity, accesses)
    assert found == pytest.approx(min(10.0, expected))
