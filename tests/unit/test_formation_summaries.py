"""Shorter summaries, period summaries and the working summary: by rules, by a model, and when it fails."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.exchanges import at, judged
from thoughtcycle.errors import ModelFailed
from thoughtcycle.language.facts.summaries import shorten, shorten_all
from thoughtcycle.memory.model.judgement import CriticalDatum, Mood, Preserved, PreservedData
from thoughtcycle.memory.rules.compression import Piece, RollUp, Shorten
from thoughtcycle.mind.base import Mind
from thoughtcycle.mind.prompting import ask_prompt
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.formation.summaries import (
    clean_answer,
    roll_up,
    roll_up_question,
    rolled_up_by_rules,
    shorten_pieces,
    shorten_question,
    working_by_rules,
    working_summary,
)
from thoughtcycle.prompts.loader import LANGUAGES, Language
from thoughtcycle.text_clipping import clip_at_word, count_words, estimate_tokens

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
LONG = (
    "Então a Ana disse que ela realmente não quer mais pagar R$ 5.000 por mês até junho de 2027 no aluguel do "
    "apartamento em Recife porque acha isso muito caro e assim prefere morar na casa da Maria"
)


def piece(id: str, summary: str = LONG) -> Piece:
    preserved = PreservedData(numerical_values=(Preserved(said="R$ 5.000", normalised="5000"),))
    return Piece(id, at(0), summary, preserved)


class Told(RuleMind):
    """Answers what it was given; fails when that is nothing. Keeps what it was shown."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def ask(self, question: Any, view: Any) -> Any:
        self.prompt = "\n".join(str(message.content) for message in ask_prompt(question, view))
        if self.answer is None:
            raise ModelFailed("unreachable", role="background", model="m")
        return self.answer


@pytest.mark.parametrize("words", [6, 10, 14, 20])
@pytest.mark.spec("CM-6")
def test_figures_dates_names_and_negations_stay_longest(words: int) -> None:
    short = shorten(LONG, words)
    assert count_words(short) <= words
    assert {"5.000", "junho", "2027", "não"} <= set(short.split())
    if words >= 10:
        assert {"Ana", "Recife", "Maria"} <= set(short.split())


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.integers(1, 30))
def test_shortening_only_leaves_out(text: str, words: int) -> None:
    short = shorten(text, words)
    assert count_words(short) <= words
    rest = iter(text.split())
    assert all(any(token.strip(",;: ") == word.strip(",;: ") for token in rest) for word in short.split())
    assert shorten(text, words) == short


def test_several_texts_as_one() -> None:
    told = shorten_all(
        ["Pagou R$ 90 de luz.", "", "Não foi à festa da Bia em maio, porque estava cansado"], 12
    )
    assert told == "Pagou R$ 90 de luz; Não foi festa Bia maio, cansado"
    assert shorten_all([], 10) == ""
    assert count_words(shorten_all(["um dois três quatro"] * 30, 10)) <= 10


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Gastou 5k", "Gastou 5k"),
        ('"Gastou 5k"', "Gastou 5k"),
        ("```\nGastou 5k\n```", "Gastou 5k"),
        ("Aqui está o resumo: Gastou 5k", "Gastou 5k"),
        ("Resumo:\n\nGastou\n5k", "Gastou 5k"),
        ("<think>hm</think>Gastou 5k", "Gastou 5k"),
        ("Ana: quer 5k", "Ana: quer 5k"),
        ("  ", ""),
    ],
)
def test_what_a_model_puts_around_its_text_goes(answer: str, expected: str) -> None:
    assert clean_answer(answer, "pt") == expected


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("mind", [RuleMind(), Told(None), Told(["a"]), Told(["", " "])])
@pytest.mark.spec("CM-6", "CM-8")
async def test_rules_answer_for_what_the_model_leaves_out(mind: Mind, language: Language) -> None:
    step = Shorten((piece("c0"), piece("c1", "curto")), 12)
    answers = await shorten_pieces(mind, step, language=language, now=NOW)
    assert answers == {"c0": shorten(LONG, 12), "c1": "curto"}


@pytest.mark.spec("CM-6")
async def test_the_model_sees_the_pieces_and_what_to_keep() -> None:
    mind = Told(["um", "dois"])
    step = Shorten((piece("c0"), piece("c1")), 20)
    assert await shorten_pieces(mind, step, language="pt", now=NOW) == {"c0": "um", "c1": "dois"}
    assert "no máximo 20 palavras" in mind.prompt
    assert f"1. (2026-11-01) {LONG} [manter: R$ 5.000]" in mind.prompt


@pytest.mark.parametrize("answer", [None, "", "``` ```"])
@pytest.mark.spec("CM-6")
async def test_a_period_is_summarised_by_rules_when_the_model_fails(answer: str | None) -> None:
    step = RollUp((piece("c0"), piece("c1")), 40)
    told = await roll_up(Told(answer), step, language="pt", now=NOW)
    assert told == rolled_up_by_rules(step) == await roll_up(RuleMind(), step, language="en", now=NOW)
    assert count_words(told) <= 40 and "5.000" in told


@pytest.mark.parametrize("question", [shorten_question(Shorten((), 1)), roll_up_question(RollUp((), 1))])
def test_the_background_role_is_asked(question: Any) -> None:
    assert question.role == "background"


GOAL = CriticalDatum(kind="financial_goals", text="Quero economizar R$ 5.000 até junho", cycle="c1", at=at(1))


@pytest.mark.spec("HM-2")
def test_the_working_summary_by_rules_has_goal_state_and_mood() -> None:
    first = judged("Perguntou por investimentos.", critical=(GOAL,)).model_copy(
        update={"mood": Mood(name="anxious", topic="dinheiro")}
    )
    text = working_by_rules("", [first, judged("Comparou CDB e tesouro.")], "pt")
    assert (
        text
        == "Objetivo: Quero economizar R$ 5.000 até junho. Agora: Comparou CDB e tesouro. Humor: ansioso – dinheiro."
    )
    later = working_by_rules(text, [judged("Falou do tempo.")], "pt")
    assert later == "Objetivo: Quero economizar R$ 5.000 até junho. Agora: Falou do tempo."
    assert (
        working_by_rules(text, [judged("Oi.", importance=0)], "pt")
        == "Objetivo: Quero economizar R$ 5.000 até junho."
    )


@pytest.mark.parametrize("answer", [None, "palavra " * 400, "x" * 5_000, "curto"])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.spec("HM-2")
async def test_the_working_summary_never_exceeds_eighty_tokens(
    answer: str | None, language: Language
) -> None:
    long = judged("Resumo " * 50, critical=(GOAL,))
    text = await working_summary(Told(answer), "antes " * 90, [long] * 4, language=language, now=NOW)
    assert 0 < estimate_tokens(text) <= 80


async def test_the_working_summary_stays_when_nothing_was_said() -> None:
    assert await working_summary(Told("x"), "antes", [], language="pt", now=NOW) == "antes"


def test_a_text_within_characters_ends_at_a_word() -> None:
    assert clip_at_word("um dois três", 8) == "um dois…"
