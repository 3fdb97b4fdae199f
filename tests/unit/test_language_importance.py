"""Importance by rules: what tells much of the user counts more, facts and critical data have their floors."""

import time
from datetime import UTC, datetime
from typing import Literal

import pytest

from thoughtcycle.language.intents.importance import (
    CONTEXT,
    CRITICAL,
    FACT,
    STRONG_FEELING,
    count_features,
    score_importance,
)

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
Language = Literal["pt", "en"]


@pytest.mark.spec("SM-4")
@pytest.mark.parametrize(
    ("more", "less", "language"),
    [
        (
            "Ontem comecei a trabalhar com a equipe da Ana em Recife.",
            "Que legal, parabéns pela novidade!",
            "pt",
        ),
        ("Eu moro em Recife desde 2015.", "O que você acha disso tudo?", "pt"),
        ("Fomos à praia no sábado com o João e a Bia.", "Nossa, que bom!", "pt"),
        (
            "I joined Caroline's support group last week and it changed my life.",
            "Wow, that sounds great!",
            "en",
        ),
        ("We adopted a dog named Toby in May 2023.", "What do you think about that?", "en"),
        ("I went hiking in Yosemite with my kids last weekend.", "You're always so nice to everyone", "en"),
    ],
)
def test_what_tells_more_counts_more(more: str, less: str, language: Language) -> None:
    assert score_importance(more, language, NOW) > score_importance(less, language, NOW)


@pytest.mark.spec("SM-4", "HM-4")
@pytest.mark.parametrize(
    ("text", "language", "least"),
    [
        ("sou vegano", "pt", FACT),
        ("I'm vegan", "en", FACT),
        ("Quero juntar R$ 10.000", "pt", FACT),
        ("estou muito ansioso com a prova", "pt", STRONG_FEELING),
        ("I'm so anxious about the exam", "en", STRONG_FEELING),
    ],
)
def test_facts_and_strong_feelings_have_a_floor(text: str, language: Language, least: int) -> None:
    assert score_importance(text, language, NOW) >= least >= CONTEXT


@pytest.mark.spec("SM-4")
def test_critical_data_are_critical() -> None:
    assert (
        score_importance("decidi", "pt", NOW)
        < CRITICAL
        <= score_importance("decidi", "pt", NOW, critical=True)
    )


@pytest.mark.spec("SM-4")
@pytest.mark.parametrize(
    "text", ["", "ok", "?", "kkk", "👍", "you you you you", "x " * 200_000, "a" * 500_000]
)
def test_it_stays_between_1_and_100_and_is_quick(text: str) -> None:
    start = time.thread_time()
    assert 1 <= score_importance(text, "pt", NOW) <= 100
    assert time.thread_time() - start < 9


def test_language_of_the_words_decides() -> None:
    said = "I started painting last year with my sister Ana."
    assert count_features(said, "pt", NOW) == count_features(said, "en", NOW)
