"""The dialogue through LLMMind against a scripted server: in process, as a subgraph, and what the prompts carry."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from support.dialogue import HEAVY, REASON, TALK, TURNS, watch
from support.fake_openai import FakeOpenAI
from support.graphs import Lab, lab
from thoughtcycle.graph.thought_cycle import create_thought_cycle
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.envelope import of_message
from thoughtcycle.prompts.loader import texts


async def ids(lab: Lab) -> dict[str, str]:
    """Content of each active memory to its id."""
    return {record.text: record.id for record in await lab.memory.list("ana")}


@pytest.mark.spec("TC-1", "TC-2", "TC-3", "TC-6", "TC-7", "TC-8", "TC-9", "TC-10", "TC-11", "TC-13", "TC-14")
async def test_in_process(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        for turn in TURNS:
            turn.script(fake_openai, await ids(cycle))
            seen = await watch(
                cycle.graph.astream(
                    {"messages": [HumanMessage(turn.message)]},
                    {"configurable": {"thread_id": "t"}},
                    context=Context(user_id="ana"),
                    stream_mode=["custom", "messages"],
                )
            )
            turn.check(seen)
            assert fake_openai.left == 0
        assert list(await ids(cycle)) == ["Come peixe, não é mais vegetariano", "Nome: Pedro"] or set(
            await ids(cycle)
        ) == {"Nome: Pedro", "Come peixe, não é mais vegetariano"}
        assert {request.model for request in fake_openai.requests} == {HEAVY, REASON, TALK, "embed"}


@pytest.mark.spec("TC-13", "BY-6")
async def test_as_a_subgraph(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        inner = create_thought_cycle(memory=cycle.memory, mind=cycle.mind)
        graph = StateGraph(MessagesState, context_schema=Context)
        graph.add_node("katherine", inner)
        graph.add_edge(START, "katherine")
        outer = graph.compile(checkpointer=InMemorySaver())
        for turn in TURNS:
            turn.script(fake_openai, await ids(cycle))
            seen = await watch(
                outer.astream(
                    {"messages": [HumanMessage(turn.message)]},
                    {"configurable": {"thread_id": "t"}},
                    context=Context(user_id="ana", explain_actions="on"),
                    stream_mode=["custom", "messages"],
                    subgraphs=True,
                )
            )
            turn.check(seen)
        cycles = await cycle.memory.conversation("ana", "t/katherine", limit=10)
        assert [entry.message.text for entry in cycles] == [
            "Meu nome é Pedro, sou vegetariano e […].",  # a memory was deleted; the others stay readable
            TURNS[1].message,
            TURNS[2].message,
            "[…]",
            TURNS[4].message,
        ]


@pytest.mark.spec("TC-1")
async def test_final_messages_carry_the_envelope(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        TURNS[0].script(fake_openai, {})
        values = await cycle.say(TURNS[0].message)
        told, finished = (message for message in values["messages"] if isinstance(message, AIMessage))
        assert (of_message(told)["chat-history"], of_message(finished)["chat-history"]) == (True, False)
        assert of_message(told) == {
            "chat-history": True,
            "modal": "text",
            "role": "assistant",
            "content": "Guardei três memórias.",
            "id": told.id,
        }


@pytest.mark.spec("TC-4")
async def test_the_router_prompt(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        for turn in TURNS[:2]:
            turn.script(fake_openai, await ids(cycle))
            await cycle.say(turn.message)
        first, *_, last = [request for request in fake_openai.requests if request.model == HEAVY]
        for name in ("MemorySearch", "MemorySave", "MemoryUpdate", "MemoryDelete", "Question", "Finish"):
            assert name in first.prompt
        assert TURNS[1].message in last.text("user")
        prompt = last.prompt
        assert TURNS[0].message in prompt and "Guardei três memórias." in prompt
        assert "Prazer, Pedro!" not in prompt, "what Finish says is not flagged"
        assert "Odeia coentro" in prompt, "recalled memories are shown"
        assert not first.stream and not last.stream


@pytest.mark.spec("TC-4")
async def test_an_unknown_name_is_asked_once_more_then_the_rules_decide(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Dance!", "Finish", model=HEAVY)
        fake_openai.say("Olá!", model=TALK)
        assert await cycle.answer("Bom dia", language="pt") == "Olá!"
        fake_openai.say("Dance!", "Sing!", model=HEAVY)
        fake_openai.say("Olá de novo!", model=TALK)
        assert await cycle.answer("Bom dia", language="pt") == "Olá de novo!"
        assert fake_openai.left == 0
        again = [request for request in fake_openai.requests if request.model == HEAVY][1]
        assert again.text("assistant") == "Dance!"
        meanings = texts("pt", "actions/memory_search")["when"]
        assert f"MemorySearch: {meanings}" in again.text("user") and "Exemplo" in again.text("user")


@pytest.mark.spec("TC-4")
async def test_equal_inputs_are_not_repeated(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySearch", "MemorySearch", "Finish", model=HEAVY)
        fake_openai.say('["Comida"]', '["comida"]', model=REASON)
        fake_openai.say("Nada.", "Não sei.", model=TALK)
        values = await cycle.say("O que sabe de comida?", language="pt")
        assert [step["status"] for step in values["steps"]] == ["nothing", "repeated", "done"]
        last = [request for request in fake_openai.requests if request.model == HEAVY][-1]
        assert "Já feito neste ciclo" in last.prompt


@pytest.mark.spec("TC-4")
@pytest.mark.parametrize("steps", [1, 3, 8])
async def test_the_step_budget(tmp_path: Path, fake_openai: FakeOpenAI, steps: int) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(*["MemorySearch"] * steps, model=HEAVY)
        fake_openai.say(*[json.dumps([f"assunto {n}"]) for n in range(steps)], model=REASON)
        fake_openai.say(*["Nada."] * steps, "Parei por aqui.", model=TALK)
        said = await cycle.answer("procure para sempre", language="pt", max_steps=steps)
        assert said.endswith("Parei por aqui.") and fake_openai.left == 0


@pytest.mark.spec("TC-4")
async def test_fifty_steps_meet_no_recursion_limit(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.answer = lambda request: {
            HEAVY: "MemorySearch",
            REASON: json.dumps([f"assunto {len(fake_openai.requests)}"]),
            TALK: "ok",
        }[request.model]
        values = await cycle.say("procure", language="pt", max_steps=50)
        assert len(values["steps"]) == 51 and values["steps"][-1]["action"] == "Finish"


@pytest.mark.spec("TC-10", "TC-11", "BY-5")
async def test_ids_that_were_not_recalled_are_refused(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        TURNS[0].script(fake_openai, {})
        await cycle.say(TURNS[0].message)
        known = await ids(cycle)
        other = known["Vegetariano"]
        for user, thread in (("ana", "other thread"), ("eve", "eves thread")):
            fake_openai.say("MemoryDelete", "MemoryUpdate", "Finish", model=HEAVY)
            fake_openai.say(
                json.dumps([other, "made up"]), json.dumps([{"_id": other, "content": "x"}]), model=REASON
            )
            fake_openai.say("Nada.", "Nada.", "Fim.", model=TALK)
            values = await cycle.say("zzz qqq", thread, user_id=user, language="pt")
            assert [step["status"] for step in values["steps"][:2]] == ["refused", "refused"]
        assert await ids(cycle) == known


@pytest.mark.spec("TC-5")
async def test_a_disabled_action_is_neither_offered_nor_run(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say("Certo.", model=TALK)
        said = await cycle.answer("Meu nome é Pedro", language="pt", disabled_actions=["MemorySave"])
        assert said == "Certo." and await ids(cycle) == {}
        assert "MemorySave" not in fake_openai.requests[0].prompt or "embed" in str(
            fake_openai.requests[0].path
        )
        heavy = [request for request in fake_openai.requests if request.model == HEAVY]
        assert all("MemorySave" not in request.text("system") for request in heavy)


@pytest.mark.spec("BY-10")
async def test_incognito_writes_nothing(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say("Certo.", model=TALK)
        await cycle.answer("Meu nome é Pedro", language="pt", incognito=True)
        assert await ids(cycle) == {}
        assert await cycle.memory.conversation("ana", "t", limit=5) == []


@pytest.mark.spec("BY-11")
async def test_the_model_is_told_the_users_time(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say("Certo.", model=TALK)
        await cycle.answer("oi", language="pt", time_zone="Asia/Tokyo")
        heavy = next(request for request in fake_openai.requests if request.model == HEAVY)
        assert "Asia/Tokyo" in heavy.prompt or "JST" in heavy.prompt


@pytest.mark.spec("TC-2")
@pytest.mark.parametrize(
    "content", ["Bom dia!", [{"type": "text", "text": "Bom "}, {"type": "text", "text": "dia!"}]]
)
async def test_content_may_be_a_list_of_blocks(tmp_path: Path, fake_openai: FakeOpenAI, content: Any) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say("Olá!", model=TALK)
        assert await cycle.answer(content) == "Olá!"
        (stored,) = await cycle.memory.conversation("ana", "t", limit=1)
        assert stored.message.text == "Bom dia!"
