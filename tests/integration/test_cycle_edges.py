"""A cycle where callers, models and crashes misbehave: what was said stays said, and nobody sees too much."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from support.graphs import Lab, lab, replies
from thoughtcycle.graph.thought_cycle import ThoughtCycle, create_thought_cycle
from thoughtcycle.nodes.context import Context
from thoughtcycle.prompts.errors import NotAllowed

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
