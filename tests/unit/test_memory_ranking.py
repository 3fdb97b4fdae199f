"""Fusion, floor, strength and the bounded rerank, as tables."""

from datetime import timedelta

import pytest

from support.memories import START, record
from thoughtcycle.memory.ranking import (
    KeywordScore,
    best_key,
    dense_evidence,
    fuse,
    idf,
    rerank,
    strength,
    whole,
)
from thoughtcycle.memory.words import terms


@pytest.mark.parametrize(
    ("cosine", "mean", "expected"),
    [(0.2, 0.0, 0.0), (0.45, 0.0, 0.5), (0.7, 0.0, 1.0), (0.9, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.8, 0.8, 0.0)],
)
def test_a_cosine_is_evidence_only_beyond_what_is_usual(cosine: float, mean: float, expected: float) -> None:
    assert dense_evidence(cosine, mean) == pytest.approx(expected)


def test_a_model_that_finds_everything_alike_still_tells_a_match() -> None:
    assert dense_evidence(0.9, mean=0.8) >= 0.9
    assert dense_evidence(0.82, mean=0.8) < 0.25


def test_a_lone_hit_is_not_relevant_for_being_the_best() -> None:
    assert fuse({1: 0.3}, {}) == {}
    assert fuse({1: 0.6}, {}) == {1: pytest.approx(0.8)}
    assert fuse({}, {1: KeywordScore(3.0, 0.1)}) == {}
    assert fuse({}, {1: KeywordScore(0.1, 1.0)}) == {1: 1.0}
    assert fuse({}, {}) == {}


def test_either_kind_of_evidence_suffices_and_both_rank_first() -> None:
    dense = {1: 0.6, 2: 0.6, 3: 0.1}
    words = {1: KeywordScore(2.0, 0.8), 3: KeywordScore(2.0, 0.8)}
    relevance = fuse(dense, words)
    assert sorted(relevance, key=lambda id: -relevance[id]) == [1, 2, 3]
    assert all(0 <= value <= 1 for value in relevance.values())


def test_the_floor_can_be_lowered_and_raised() -> None:
    dense = {1: 0.3, 2: 0.5}
    assert set(fuse(dense, {}, floor=0.0)) == {1, 2}
    assert set(fuse(dense, {}, floor=0.9)) == set()


def test_a_rare_word_weighs_more_and_a_small_space_says_nothing_of_rarity() -> None:
    assert idf(10_000, 1) > idf(10_000, 100) > idf(10_000, 10_000) > 0
    assert idf(2, 2) > idf(1_000, 900)
    assert idf(100, 0) == idf(100, 1)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [([], 0.0), ([1.0], 1.0), ([1.0, 2.0], 3.0), ([0.5, 2.0, 1.0, 3.0], 6.0), ([1.0] * 30, 3.0)],
)
def test_a_query_is_covered_by_its_weightiest_words(weights: list[float], expected: float) -> None:
    assert whole(weights) == pytest.approx(expected)


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
