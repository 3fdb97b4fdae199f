"""Folding, stems, stop words, and what counts as the same content."""

import pytest

from thoughtcycle.memory.text.analyzer import fold, identity, stop_words, terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alimentação", "alimentacao"),
        ("alimentação", "alimentar"),
        ("nomes", "nome"),
        ("Vegetariana", "vegetariano"),
        ("vegetariano", "vegetarian"),
        ("running", "run"),
        ("DIETS", "diet"),
    ],
)
def test_words_of_one_stem_are_one_term(one: str, other: str) -> None:
    (first,), (second,) = terms(one), terms(other)
    assert set(first) & set(second)


@pytest.mark.parametrize(("one", "other"), [("nome", "dieta"), ("carro", "casa"), ("food", "foot")])
def test_words_of_different_stems_are_not(one: str, other: str) -> None:
    (first,), (second,) = terms(one), terms(other)
    assert not set(first) & set(second)


@pytest.mark.parametrize("text", ["Qual é a minha?", "what is my", "", "\0", "\U0001f980", "…", "você e eu"])
def test_stop_words_and_signs_are_no_terms(text: str) -> None:
    assert terms(text) == []


def test_a_long_word_is_cut_and_a_long_text_is_read() -> None:
    assert len(terms("x" * 1_000_000)) == 1
    assert len(terms("casa " * 10_000)) == 10_000


def test_stop_words_are_folded() -> None:
    assert all(word == fold(word) for word in stop_words())
    assert {"nao", "voce", "the", "qual"} <= stop_words()


@pytest.mark.parametrize(
    ("type", "one", "other", "same"),
    [
        ("text", "Odeia  coentro.", "odeia coentro", True),
        ("text", "avó: 80 anos", "avô: 80 anos", False),
        ("text", "C++", "C", False),
        ("code", "Print", "print", False),
        ("json", {"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ("json", {"a": 1}, {"a": 2}, False),
    ],
)
def test_what_counts_as_the_same_content(type: str, one: object, other: object, same: bool) -> None:
    assert (identity(type, one) == identity(type, other)) is same


def test_the_type_is_part_of_the_content() -> None:
    assert identity("text", "a") != identity("code", "a")
