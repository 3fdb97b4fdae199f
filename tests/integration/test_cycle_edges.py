"""A cycle where callers, models and crashes misbehave: what was said stays said, and nobody sees too much."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI, Reply
from support.graphs import Lab, lab, replies
from thoughtcycle.errors import NotAllowed
from thoughtcycle.graph.thought_cycle import ThoughtCycle, builder, compile_cycle, create_thought_cycle
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services

HERE: dict[str, Any] = {"configurable": {"thread_id": "t"}}


async def talk(graph: Any, *messages: AnyMessage, config: Any = HERE, **context: Any) -> dict[str, Any]:
    """One turn with exactly these messages."""
    given = Context(**{"user_id": "ana", "language": "pt", **context})
    return dict(await graph.ainvoke({"messages": list(messages)}, config, context=given))


async def told(cycle: Lab, chat: str = "t") -> list[tuple[str, str]]:
    """The live path of a chat: what was said, and the whole reply."""
    path = await cycle.memory.conversation("ana", chat, limit=100)
    return [(one.message.text, " ".join(reply.text for reply in one.replies)) for one in path]


async def known(cycle: Lab) -> list[str]:
    return sorted(record.text for record in await cycle.memory.list("ana"))


def around(cycle: ThoughtCycle, saver: InMemorySaver | None) -> Any:
    """Another graph with the cycle as its only node."""
    graph = StateGraph(MessagesState, context_schema=Context)
    graph.add_node("katherine", cycle)
    graph.add_edge(START, "katherine")
    graph.add_edge("katherine", END)
    return graph.compile(checkpointer=saver)


@pytest.mark.spec("BY-1")
@pytest.mark.parametrize("saved", [False, True], ids=["parent not saved", "parent saved"])
@pytest.mark.parametrize("own", ["alone", "none", "true", "own"])
async def test_turns_chain_whoever_saves_the_state(own: str, saved: bool, tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        saver = {"true": True, "own": InMemorySaver()}.get(own)
        graph: Any = create_thought_cycle(
            memory=cycle.memory,
            mind=cycle.mind,
            checkpointer=InMemorySaver() if own == "alone" and saved else saver,
        )
        if own != "alone":
            graph = around(graph, InMemorySaver() if saved else None)
        await talk(graph, HumanMessage("Meu nome é Pedro"))
        values = await talk(graph, HumanMessage("Qual é o meu nome?"))
        assert "Pedro" in replies(values)
        chat = "t" if own == "alone" else "t/katherine"
        assert [message for message, _ in await told(cycle, chat)] == [
            "Meu nome é Pedro",
            "Qual é o meu nome?",
        ]


@pytest.mark.spec("BY-5")
async def test_nobody_goes_on_with_another_users_thread(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await talk(cycle.graph, HumanMessage("Meu nome é Pedro"))
        eve = Context(user_id="eve", language="pt")
        states = [state async for state in cycle.graph.aget_state_history(HERE) if state.next]
        assert {name for state in states for name in state.next} >= {"recall", "router", "Finish", "remember"}
        heard: list[Any] = []
        for state in states:
            with pytest.raises(NotAllowed, match="another user"):
                stream = cycle.graph.astream(
                    None, state.config, context=eve, stream_mode=["messages", "custom"]
                )
                heard += [part async for part in stream]
        assert heard == []


@pytest.mark.spec("BY-5", "BY-10")
async def test_nobody_joins_another_users_incognito_chat(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await talk(cycle.graph, HumanMessage("Meu nome é Pedro"), incognito=True)
        for incognito in (True, False):
            with pytest.raises(NotAllowed, match="another user"):
                await talk(
                    cycle.graph, HumanMessage("Qual é o meu nome?"), user_id="eve", incognito=incognito
                )


@pytest.mark.spec("TC-1", "TC-2", "BY-1")
async def test_messages_that_come_together_are_one(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await talk(cycle.graph, HumanMessage("Bom dia!"))
        together = (HumanMessage("Meu nome é Pedro.\x00"), HumanMessage("Moro em Recife.", name="Pedro"))
        values = await talk(cycle.graph, *together)
        assert await known(cycle) == ["Mora em Recife", "Nome: Pedro"]
        both = "Meu nome é Pedro.\n\nMoro em Recife."
        assert (await told(cycle))[1][0] == both
        last = next(message for message in reversed(values["messages"]) if isinstance(message, HumanMessage))
        assert (last.text, last.name) == (both, "Pedro")
        for message in values["messages"]:
            assert message.additional_kwargs.keys() == {"chat_history", "modal"}
        (_, exchange) = await cycle.memory.conversation("ana", "t")
        assert exchange.message.name == "Pedro"


@pytest.mark.spec("BY-1")
@pytest.mark.parametrize(
    "messages",
    [[], [AIMessage("Sou eu.")], [SystemMessage("Seja breve.")], [ToolMessage("42", tool_call_id="1")]],
    ids=["none", "of the assistant", "of the system", "of a tool"],
)
async def test_without_a_new_message_nothing_is_answered_twice(
    messages: list[AnyMessage], tmp_path: Path
) -> None:
    async with lab(tmp_path) as cycle:
        before = await talk(cycle.graph, HumanMessage("Meu nome é Pedro"))
        values = await talk(cycle.graph, *messages)
        assert values["messages"][:-1] == before["messages"] and "mensagem" in values["messages"][-1].text
        assert len(await told(cycle)) == 1
        assert "Pedro" in replies(await talk(cycle.graph, HumanMessage("Qual é o meu nome?")))
        assert len(await told(cycle)) == 2


async def test_what_other_agents_said_is_no_part_of_our_reply(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        handed = (HumanMessage("Meu nome é Pedro"), AIMessage("Passo para Katherine."))
        await talk(around(cycle.graph, None), *handed)
        assert await told(cycle, "t/katherine") == [("Meu nome é Pedro", "Guardei: Nome: Pedro. Anotado.")]


@pytest.mark.spec("BY-11")
async def test_a_regenerated_turn_reads_dates_as_of_its_message(tmp_path: Path) -> None:
    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    async with lab(tmp_path) as cycle:
        services = Services(cycle.memory, cycle.mind, clock=lambda: now)

        async def provide() -> Services:
            return services

        graph = compile_cycle(builder(provide), cycle.checkpointer)
        await talk(graph, HumanMessage("Vou viajar amanhã"))
        first = await known(cycle)
        states = [state async for state in graph.aget_state_history(HERE)]
        now = datetime(2026, 3, 25, 12, tzinfo=UTC)
        before = next(state for state in states if state.next == ("MemorySave",))
        await graph.ainvoke(None, before.config, context=Context(user_id="ana", language="pt"))
        assert await known(cycle) == first and "2026-03-11" in str(first)


@pytest.mark.spec("LM-10")
async def test_a_command_is_kept_as_it_was_understood(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await talk(cycle.graph, HumanMessage("  /lembrar\x00 nome "))
        assert [message for message, _ in await told(cycle)] == ["/lembrar nome"]


@pytest.mark.spec("BY-1")
async def test_regenerating_an_older_reply_abandons_what_came_after_it(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await talk(cycle.graph, HumanMessage("Olá!"))
        await talk(cycle.graph, HumanMessage("Moro em Recife"))
        states = [state async for state in cycle.graph.aget_state_history(HERE)]
        first = [state for state in states if state.next == ("Finish",)][-1]
        ana = Context(user_id="ana", language="pt")
        await cycle.graph.ainvoke(None, first.config, context=ana)
        assert [message for message, _ in await told(cycle)] == ["Olá!"] and await known(cycle) == []
        await talk(cycle.graph, HumanMessage("Bom dia"), config=states[0].config)
        assert await known(cycle) == ["Mora em Recife"]


@pytest.mark.spec("TC-3", "TC-5")
@pytest.mark.parametrize("text", ["Olá!", "Meu nome é Pedro"])
async def test_without_finish_the_rules_end_with_a_question_or_say_so(text: str, tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        for off, end in ((["Finish"], "Question"), (["Finish", "Question"], None)):
            values = await talk(cycle.graph, HumanMessage(text), disabled_actions=off)
            ran = [step["action"] for step in values["steps"]]
            assert ran[-1:] == [end] if end else not {"MemoryDelete", "MemorySearch"} & set(ran)
            assert len(ran) <= 2 and replies(values)


@pytest.mark.spec("BY-10")
async def test_rules_say_that_an_incognito_chat_keeps_nothing(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        values = await talk(cycle.graph, HumanMessage("Meu nome é Pedro"), incognito=True)
        assert "desligado" in replies(values) and await known(cycle) == []


@pytest.mark.spec("BY-10", "LM-9")
async def test_incognito_reads_memories_without_counting_them(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await talk(cycle.graph, HumanMessage("Meu nome é Pedro"))
        ids = [record.id for record in await cycle.memory.list("ana")]
        before = await cycle.memory.accesses("ana", ids)
        asked = HumanMessage("Qual é o meu nome?")
        values = await talk(
            cycle.graph, asked, config={"configurable": {"thread_id": "secret"}}, incognito=True
        )
        assert "Pedro" in replies(values)
        assert await cycle.memory.accesses("ana", ids) == before
        await talk(cycle.graph, asked, config={"configurable": {"thread_id": "open"}})
        assert await cycle.memory.accesses("ana", ids) != before


@pytest.mark.spec("TC-4", "TC-9", "TC-10", "BY-5")
@pytest.mark.parametrize(
    ("action", "answer", "status"),
    [
        ("MemorySave", json.dumps([{"content": f"{n} {'x' * 500}"} for n in range(3_000)]), "done"),
        ("MemorySave", json.dumps([{"content": "x " * 50_000}]), "nothing"),
        ("MemoryDelete", json.dumps([f"id {n}" for n in range(10_000)]), "refused"),
        ("MemoryDelete", json.dumps(["' OR 1=1 --", '"; DROP TABLE memories; --']), "refused"),
        ("MemoryUpdate", json.dumps([{"_id": "../..", "content": "x"}] * 10_000), "refused"),
    ],
    ids=["many items", "huge content", "many ids", "quotes", "many updates"],
)
async def test_a_boundless_answer_leaves_a_bounded_step(
    action: str, answer: str, status: str, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(action, "Finish", model=HEAVY)
        fake_openai.say(answer, model=REASON)
        fake_openai.say("Um.", "Dois.", model=TALK)
        step = (await talk(cycle.graph, HumanMessage("Meu nome é Pedro")))["steps"][0]
        assert step["status"] == status and len(json.dumps(step)) < 4_000
        assert len(await known(cycle)) <= 20


@pytest.mark.spec("TC-9", "TC-15")
@pytest.mark.parametrize(
    "content",
    ["NaN", '{"a": 1e999}', '"\\ud800"', "[" * 300 + "]" * 300, "9" * 5_000],
    ids=["not a number", "infinite", "no Unicode", "deep", "many digits"],
)
async def test_content_that_cannot_be_kept_is_asked_for_again(
    content: str, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say(f'[{{"content": {content}}}]', '[{"content": "Nome: Pedro"}]', model=REASON)
        fake_openai.say("Guardei.", "Pronto.", model=TALK)
        await talk(cycle.graph, HumanMessage("Meu nome é Pedro"))
        assert await known(cycle) == ["Nome: Pedro"]


@pytest.mark.spec("TC-10")
@pytest.mark.parametrize(
    ("contents", "hide", "expected", "versions"),
    [
        (["Nome: Ana", "Nome: Rui"], False, ["Nome: Rui"], 1),
        ([None], False, ["Nome: Pedro"], 0),
        (["Nome: Ana"], True, [], 0),
    ],
    ids=["twice the same id", "no content", "deleted meanwhile"],
)
async def test_an_update_changes_each_memory_once_or_refuses(
    contents: list[Any],
    hide: bool,
    expected: list[str],
    versions: int,
    tmp_path: Path,
    fake_openai: FakeOpenAI,
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say('[{"content": "Nome: Pedro", "bindings": ["nome"]}]', model=REASON)
        fake_openai.say("Guardei.", "Pronto.", model=TALK)
        await talk(cycle.graph, HumanMessage("Meu nome é Pedro"))
        (record,) = await cycle.memory.list("ana")
        update = json.dumps([{"_id": record.id, "content": content} for content in contents])
        fake_openai.say("MemoryUpdate", "Finish", model=HEAVY)
        fake_openai.say(Reply(update, hold_after=0 if hide else None), model=REASON)
        fake_openai.say("Mudei.", "Fim.", model=TALK)
        turn = asyncio.create_task(talk(cycle.graph, HumanMessage("Mudou")))
        if hide:
            async with asyncio.timeout(60):
                while [request.model for request in fake_openai.requests].count(REASON) < 2:
                    await asyncio.sleep(0.01)
            await cycle.memory.hide("ana", [record.id])
            fake_openai.go_on()
        values = await turn
        assert await known(cycle) == expected and replies(values) == "Mudei. Fim."
        assert len(await cycle.memory.versions("ana", record.id)) == versions


@pytest.mark.spec("BY-1")
async def test_a_step_repeated_after_a_crash_tells_the_same(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        runnable: Any = cycle.graph.builder.nodes["MemorySave"].runnable
        save, crashes = runnable.ainvoke, iter([True])

        async def crashing(*args: Any, **kwargs: Any) -> Any:
            update = await save(*args, **kwargs)
            if next(crashes, False):
                raise RuntimeError("power cut")
            return update

        runnable.ainvoke = crashing
        with pytest.raises(RuntimeError):
            await talk(cycle.graph, HumanMessage("Meu nome é Pedro"))
        ana = Context(user_id="ana", language="pt")
        values = await cycle.graph.ainvoke(None, HERE, context=ana)
        assert replies(dict(values)) == "Guardei: Nome: Pedro. Anotado."
        (exchange,) = await cycle.memory.conversation("ana", "t")
        assert [step["status"] for step in exchange.variants[-1].steps] == ["done", "done"]
        assert len(exchange.variants) == 1 and exchange.progress == ()
