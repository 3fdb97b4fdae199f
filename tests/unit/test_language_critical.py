"""Goals, limits, preferences and decisions are found in what the user says of themself, and nowhere else (CM-7)."""

import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from thoughtcycle.language.facts.critical import critical_in
from thoughtcycle.prompts.loader import LANGUAGES, Language

SATURDAY = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
SETS = Path(__file__).parents[1] / "support" / "critical"
NAMES = {
    "g": "financial_goals",
    "l": "configured_limits",
    "p": "declared_preferences",
    "d": "important_decisions",
}


def kinds(text: str, language: Language) -> set[str]:
    return {datum.kind for datum in critical_in(text, language=language, now=SATURDAY, cycle="c")}


def labelled(half: str) -> list[tuple[Language, str, set[str]]]:
    return [
        (language, text, {NAMES[label] for label in labels.split()})
        for language in LANGUAGES
        for text, labels in tomllib.loads((SETS / f"{language}.toml").read_text("utf-8"))[half]
    ]


@pytest.mark.parametrize(("language", "text", "expected"), labelled("tune"))
@pytest.mark.spec("CM-7")
def test_kinds_of_the_half_that_was_looked_at(language: Language, text: str, expected: set[str]) -> None:
    assert kinds(text, language) == expected


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.spec("CM-7")
def test_precision_and_recall_on_the_half_that_is_only_scored(language: Language) -> None:
    found = [(kinds(text, one), expected) for one, text, expected in labelled("held_out") if one == language]
    right = sum(len(got & expected) for got, expected in found)
    assert right / sum(len(got) for got, _ in found) >= 0.95
    assert right / sum(len(expected) for _, expected in found) >= 0.95


@pytest.mark.parametrize(
    ("language", "text", "kept", "values"),
    [
        (
            "pt",
            "Oi! Quero economizar R$ 5.000 até junho, tá?",
            "Quero economizar R$ 5.000 até junho",
            ("5000", "2027-06"),
        ),
        (
            "pt",
            "Quero juntar R$ 10.000 para uma viagem",
            "Quero juntar R$ 10.000 para uma viagem",
            ("10000",),
        ),
        (
            "pt",
            "se eu passar de 800 no cartão, me avisa",
            "se eu passar de 800 no cartão, me avisa",
            ("800",),
        ),
        ("pt", "bati o martelo: vamos com o PostgreSQL", "bati o martelo: vamos com o PostgreSQL", ()),
        (
            "pt",
            "A partir de amanhã, vou acordar às 6h",
            "A partir de amanhã, vou acordar às 6h",
            ("2026-11-22", "06:00"),
        ),
        ("en", "Hi! I want to save $5,000 by June.", "I want to save $5,000 by June", ("5000", "2027-06")),
        ("en", "if I go over 800 on the card, warn me", "if I go over 800 on the card, warn me", ("800",)),
        ("en", "it's settled, we go with PostgreSQL", "it's settled, we go with PostgreSQL", ()),
    ],
)
@pytest.mark.spec("CM-7", "BY-11")
def test_the_clause_is_kept_as_said_with_its_values(
    language: Language, text: str, kept: str, values: tuple[str, ...]
) -> None:
    (datum,) = critical_in(text, language=language, now=SATURDAY, cycle="c")
    assert (datum.text, datum.values, datum.cycle, datum.at) == (kept, values, "c", SATURDAY)


def test_the_words_decide_the_language() -> None:
    assert kinds("Quero economizar R$ 5.000 até junho", "en") == {"financial_goals"}


@pytest.mark.parametrize(
    "text", ["", "   ", "🙂🙂", "https://example.com/quero-economizar", "12345", "?", "\x00\x01"]
)
def test_what_says_nothing(text: str) -> None:
    assert kinds(text, "pt") == set()


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("pt", "se o gasto com uber passar de 300 me avise", {"configured_limits"}),
        ("pt", "vou começar", set()),
        ("pt", '"decidi parar" é o nome da música', set()),
        ("pt", "me avise se precisar de mais alguma coisa", set()),
        ("pt", "quero juntar os dois PDFs", set()),
        ("en", "my savings goal this year is $12k", {"financial_goals"}),
        ("en", "if my uber spending goes over 300 let me know", {"configured_limits"}),
        ("en", "personally I prefer stocks", {"declared_preferences"}),
        ("en", "I will start the oven now", set()),
        ("en", "I want to save this for later", set()),
    ],
)
@pytest.mark.spec("CM-7")
def test_what_only_looks_alike(language: Language, text: str, expected: set[str]) -> None:
    assert kinds(text, language) == expected


def test_a_datum_never_takes_in_a_whole_book() -> None:
    book = "Decidi vender o carro e comprar uma bicicleta, e vou parar de dirigir, " * 300
    assert all(len(datum.text) <= 700 for datum in critical_in(book, language="pt", now=SATURDAY, cycle="c"))
