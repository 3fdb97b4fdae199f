"""LM-14 through the product's own path: the example file, and what the store tells of itself."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.graphs import lab
from thoughtcycle.evals.dialogue_file import Line, read_dialogue
from thoughtcycle.evals.dialogue_metrics import answers, dialogue_metrics, misses
from thoughtcycle.evals.memory_metrics import memory_metrics
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import create_worker

EXAMPLE = Path(__file__).parents[2] / "examples" / "evaluation.jsonl"


@pytest.mark.spec("LM-14", "LM-13")
async def test_the_example_is_answered_across_chats_and_between_users() -> None:
    found = await answers(read_dialogue(EXAMPLE), RuleMind(), LexicalEmbeddings())
    value = {one.name: one.value for one in dialogue_metrics(found)}
    assert [line.message for line, *_ in misses(found)] == []
    assert (value["relevance"], value["personalisation"], value["continuity_asked"]) == (1.0, 1.0, 1.0)
    assert value["forbidden"] == 0.0 and (value["replied_p50"] or 0) >= (value["briefed_p50"] or 0) > 0


@pytest.mark.spec("LM-14")
async def test_what_is_missing_and_what_comes_though_forbidden_is_told() -> None:
    at = datetime(2026, 5, 1, tzinfo=UTC)
    lines = [
        Line(user="ana", chat="a", at=at, message="Moro em Recife."),
        Line(user="ana", chat="b", at=at, message="Onde eu moro?", expect=("Olinda",), forbid=("RECIFÉ",)),
    ]
    found = await answers(lines, RuleMind(), None)
    ((line, missing, came),) = misses(found)
    assert (line.chat, missing, came) == ("b", ["Olinda"], ["RECIFÉ"])
    value = {one.name: one.value for one in dialogue_metrics(found)}
    assert (value["relevance"], value["forbidden"], value["personalisation"]) == (0.0, 1.0, 0.0)
    assert value["continuity_asked"] is None


@pytest.mark.spec("LM-14", "LM-13")
async def test_the_store_tells_of_itself(tmp_path: Path) -> None:
    async with lab(tmp_path) as talk:
        nothing = {one.name: one for one in await memory_metrics(talk.memory, "ana")}
        assert nothing["continuity"].value is None and nothing["latency_p50"].count == 0
        await talk.say("Moro em Recife e prefiro reuniões de manhã.", "one")
        await create_worker(Services(talk.memory, talk.mind)).drain()
        await talk.say("Onde eu moro?", "other")
        value = {one.name: one for one in await memory_metrics(talk.memory, "ana")}
        assert (value["continuity"].value, value["continuity"].count) == (1.0, 1)
        assert value["memory_time"].count >= 1 and (value["memory_time"].value or 0) < 1
        assert value["confidence"].value == 0.7
        assert value["retrieval_p95"].count == value["latency_p95"].count == 2
        assert (value["storage"].value or 0) > 1_000
        bia = {one.name: one for one in await memory_metrics(talk.memory, "bia")}
        assert bia["tokens"].count == bia["memory_time"].count == 0


async def test_another_reply_does_not_tell_how_long_the_first_one_took(tmp_path: Path) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    async with lab(tmp_path, clock=lambda: now) as talk:
        await talk.say("Moro em Recife.")
        await talk.say("Bom dia")
        states = [
            state async for state in talk.graph.aget_state_history({"configurable": {"thread_id": "t"}})
        ]
        now += timedelta(hours=1)
        before = next(state for state in states if state.next == ("Finish",))
        await talk.graph.ainvoke(None, before.config, context=Context(user_id="ana"))
        found = {one.name: one for one in await memory_metrics(talk.memory, "ana")}
        assert found["tokens"].count == 2
        assert (found["latency_p95"].count, found["latency_p95"].value) == (1, 0.0)
