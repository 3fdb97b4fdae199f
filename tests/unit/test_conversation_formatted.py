"""The memory of a conversation as one text and as one object (CM-2, CM-10)."""

import json

import pytest

from support.exchanges import at, exchange, judged
from thoughtcycle.memory.model.conversation import ConversationMemory
from thoughtcycle.memory.model.judgement import CriticalDatum
from thoughtcycle.memory.rules.rendering import render_object, render_text
from thoughtcycle.memory.rules.window import follow_branch
from thoughtcycle.memory.rules.word_budget import WordBudget
from thoughtcycle.prompts.loader import LANGUAGES, Language

GOAL = "Quero economizar R$ 5.000 até junho"
ODD = "  dois\n\nespaços\tno  fim  "


def memory() -> tuple[ConversationMemory, list]:  # type: ignore[type-arg]
    said = CriticalDatum(kind="financial_goals", text=GOAL, cycle="c0", at=at(0), values=("5000", "2027-06"))
    cycles = [
        exchange(0, GOAL, "certo", judged("Quer guardar R$ 5.000 até junho.", critical=(said,))),
        exchange(1, ODD, "sim"),
        exchange(2, "b", "não"),
    ]
    empty = ConversationMemory(chat_id="chat", user_id="ana", created_at=at(0), updated_at=at(0))
    return follow_branch(empty, [cycle.id for cycle in cycles], cycles, at(5)), cycles[1:]


@pytest.mark.spec("CM-2", "CM-3", "CM-10")
def test_the_object_has_the_names_of_the_specification() -> None:
    whole, recent = memory()
    found = render_object(whole, recent, WordBudget())
    assert json.loads(json.dumps(found)) == found
    assert [list(one) for one in found["recent_memory"]] == [
        ["cycle_id", "timestamp", "user_message", "ai_response", "word_count"]
    ] * 2
    assert found["recent_memory"][0]["user_message"] == ODD
    (old,) = found["old_memory"]
    assert {
        "cycle_id",
        "timestamp",
        "summary",
        "preserved_data",
        "original_word_count",
        "summary_word_count",
    } <= set(old)
    assert set(old["preserved_data"]) == {"numerical_values", "dates", "decisions", "essential_context"}
    assert set(found["critical_data"]) == {
        "financial_goals",
        "configured_limits",
        "declared_preferences",
        "important_decisions",
    }
    assert found["critical_data"]["financial_goals"][0]["text"] == GOAL
    assert set(found["metadata"]) == {
        "total_cycles",
        "total_word_count",
        "last_compression",
        "compression_count",
        "created_at",
        "updated_at",
    }
    assert found["metadata"]["total_word_count"] == 5 + 2 + 6
    assert found["usage_percent"] == 0.5


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.spec("CM-10")
def test_the_text_shows_critical_data_summaries_and_recent_cycles(language: Language) -> None:
    whole, recent = memory()
    text = render_text(whole, recent, WordBudget(), language)
    assert (
        text.index(f"- {GOAL} (2026-11-01)")
        < text.index("Quer guardar R$ 5.000 até junho.")
        < text.index(ODD)
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_memory(language: Language) -> None:
    empty = ConversationMemory(chat_id="chat", user_id="ana", created_at=at(0), updated_at=at(0))
    assert render_text(empty, [], WordBudget(), language).count("\n") == 3
    assert render_object(empty, [], WordBudget())["usage_percent"] == 0
