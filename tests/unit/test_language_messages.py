"""What hundreds of everyday messages give: facts, retractions, requests, courtesies – and what gives nothing."""

from datetime import datetime
from typing import Literal

import pytest

from support.rule_labels import evaluation, messages
from thoughtcycle.language.intents.understanding import understand
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

NOW = datetime(2026, 11, 21, 10, 0)
RULES = evaluation()
Language = Literal["pt", "en"]


@pytest.mark.spec("HM-4", "CM-7", "BY-3")
@pytest.mark.parametrize(("message", "expected"), messages("pt"))
def test_portuguese_message(message: str, expected: frozenset[str]) -> None:
    assert RULES.labels(understand(message, language="pt", now=NOW)) == expected


@pytest.mark.spec("HM-4", "CM-7", "BY-3")
@pytest.mark.parametrize(("message", "expected"), messages("en"))
def test_english_message(message: str, expected: frozenset[str]) -> None:
    assert RULES.labels(understand(message, language="en", now=NOW)) == expected


@pytest.mark.parametrize("language", ["pt", "en"])
def test_there_are_enough_messages_and_none_twice(language: Language) -> None:
    said = [message for message, _ in messages(language)]
    assert len(said) == len(set(said)) >= 150


@pytest.mark.parametrize("language", ["pt", "en"])
def test_evaluation_set_has_two_halves_of_sixty(language: Language) -> None:
    tuned, held_out = (RULES.load(language, half) for half in RULES.HALVES)
    assert len(tuned) >= 60
    assert len(held_out) >= 60
    assert not {message for message, _ in tuned} & {message for message, _ in held_out}


@pytest.mark.parametrize("language", ["pt", "en"])
def test_tuned_half_stays_understood(language: Language) -> None:
    assert RULES.score(language, "tune").failures == []


@pytest.mark.parametrize(
    ("message", "spoken", "other"),
    [
        ("Meu nome é Pedro e odeio coentro.", "pt", "en"),
        ("My name is Pedro and I hate cilantro.", "en", "pt"),
        ("oi", "pt", "en"),
        ("hi", "en", "pt"),
        ("valeu", "pt", "en"),
        ("thanks", "en", "pt"),
        ("I moved to Berlin", "en", "pt"),
        ("esqueça meu nome", "pt", "en"),
    ],
)
def test_the_message_decides_its_language(message: str, spoken: str, other: Language) -> None:
    assert understand(message, language=other, now=NOW).language == spoken


@pytest.mark.parametrize("message", ["", "ok", "123", "Pedro", "😀", "..."])
@pytest.mark.parametrize("language", ["pt", "en"])
def test_an_undecided_message_is_in_the_language_given(message: str, language: Language) -> None:
    assert understand(message, language=language, now=NOW).language == language


@pytest.mark.parametrize(
    ("plain", "sloppy"),
    [
        ("não gosto de coentro", "naum gosto de coentro"),
        ("não gosto de coentro", "n gosto de coentro"),
        ("não gosto de coentro", "NÃO GOSTO DE COENTRO"),
        ("sou vegetariano", "sou vegetarino"),
        ("o que você sabe sobre mim?", "oq vc sabe sobre mim?"),
        ("estou triste hoje", "to triste hj"),
        ("esqueça meu nome", "esquesa meu nome"),
        ("I am allergic to nuts", "im alergic to nuts"),
        ("I don't like onions", "i dont like onions"),
        ("I don’t like onions", "I don't like onions"),
        ("I want to learn guitar", "i wanna learn guitar"),
        ("remember that I hate cilantro", "remeber that i hate cilantro"),
    ],
)
def test_typing_makes_no_difference(plain: str, sloppy: str) -> None:
    given = [understand(message, language="pt", now=NOW) for message in (plain, sloppy)]
    assert RULES.labels(given[0]) == RULES.labels(given[1])
    assert [fact.key for fact in given[0].facts] == [fact.key for fact in given[1].facts]


@pytest.mark.parametrize(
    "name",
    [
        "clauses",
        "corrections",
        "dates",
        "detect",
        "ellipsis",
        "facts",
        "feelings",
        "requests",
        "social",
        "spelling",
        "topics",
    ],
)
def test_both_languages_have_the_same_lists(name: str) -> None:
    optional = {"endings"}
    lists = [set(word_lists(language, f"language/{name}")) - optional for language in LANGUAGES]
    assert lists[0] == lists[1]
