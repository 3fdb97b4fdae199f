"""A goal said once is still there, amount and month, after repeated compressions without a model (CM-7)."""

import pytest

from support.exchanges import at, exchange, judged
from thoughtcycle.language.facts.critical import critical_in, preserved_in
from thoughtcycle.language.facts.summaries import shorten
from thoughtcycle.memory.model import Cycle
from thoughtcycle.memory.model.conversation import ConversationMemory
from thoughtcycle.memory.rules.compression import (
    Shorten,
    apply_roll_up,
    apply_shortening,
    finish_compression,
    next_step,
)
from thoughtcycle.memory.rules.rendering import render_text
from thoughtcycle.memory.rules.window import follow_branch, missing_cycles
from thoughtcycle.memory.rules.word_budget import WordBudget, compression_due
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.formation.summaries import roll_up, shorten_pieces
from thoughtcycle.prompts.loader import Language

SAID = {
    "pt": (
        "Oi! Quero economizar R$ 5.000 até junho, porque vou viajar.",
        "Quero economizar R$ 5.000 até junho",
    ),
    "en": ("Hi! I want to save $5,000 by June, because I travel a lot.", "I want to save $5,000 by June"),
}


def formed(number: int, text: str, reply: str, language: Language) -> Cycle:
    """An exchange with the judgement that rules alone can make of it."""
    whole = f"{text} {reply}"
    return exchange(
        number,
        text,
        reply,
        judged(
            shorten(whole, 50),
            preserved=preserved_in(whole, language=language, now=at(number)),
            critical=critical_in(text, language=language, now=at(number), cycle=f"c{number}"),
        ),
    )


@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.spec("CM-3", "CM-5", "CM-6", "CM-7", "BY-11")
async def test_the_goal_survives(language: Language) -> None:
    volume, mind = WordBudget(), RuleMind()
    said, goal = SAID[language]
    cycles = [formed(0, said, "ok", language)]
    memory = ConversationMemory(chat_id="chat", user_id="ana", created_at=at(0), updated_at=at(0))
    while memory.compression_count < 4:
        number = len(cycles)
        cycles.append(formed(number, f"R$ {number},25 " + "palavra coisa " * 40, "texto " * 90, language))
        live = [cycle.id for cycle in cycles]
        needed = missing_cycles(memory, live)
        memory = follow_branch(memory, live, [one for one in cycles if one.id in needed], at(number))
        if not compression_due(memory, volume):
            continue
        while step := next_step(memory, cycles[-2:], volume):
            if isinstance(step, Shorten):
                answers = await shorten_pieces(mind, step, language=language, now=at(number))
                memory = apply_shortening(memory, step, answers)
            else:
                answer = await roll_up(mind, step, language=language, now=at(number))
                memory = apply_roll_up(memory, step, answer)
        memory = finish_compression(memory, cycles[-2:], volume, at(number), changed=True)
        assert memory.total_word_count <= 1_100
    (datum,) = memory.critical_data
    assert (datum.kind, datum.text[: len(goal)]) == ("financial_goals", goal)
    assert {"5000", "2027-06"} <= set(datum.values)
    assert f"- {goal}" in render_text(memory, cycles[-2:], volume, language)
    kept = [one for entry in memory.ledger for one in entry.preserved_data.numerical_values]
    assert {one.normalised for one in kept} >= {"5000"} | {f"{n}.25" for n in range(1, len(cycles) - 40)}
