"""The graph for apps without an event loop: `invoke`, `stream`, and a memory on a loop of its own."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph

from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI, Reply
from support.graphs import models
from thoughtcycle import Context, LexicalEmbeddings, Memory, RuleMind, create_thought_cycle, open_checkpointer
from thoughtcycle.errors import InputRefused
from thoughtcycle.integrations.loop_bridge import in_background
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import create_worker

ANA = Context(user_id="ana", language="pt")


def config(thread: str = "1") -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


def said(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def opened(url: str) -> Any:
    return in_background(Memory.open(url, embeddings=LexicalEmbeddings()))


def last(values: Any) -> str:
    return str(values["messages"][-1].text)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/m.db"


@pytest.mark.spec("TC-13")
def test_invoke_and_stream_without_an_event_loop(url: str) -> None:
    with opened(url) as memory:
        saver = memory.enter(open_checkpointer(url))
        graph = create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver)
        graph.invoke(said("Meu nome é Pedro"), config(), context=ANA)
        pieces: list[str] = []
        modes: set[str] = set()
        part: Any
        for mode, part in graph.stream(
            said("Qual é o meu nome?"), config(), context=ANA, stream_mode=["messages", "custom", "values"]
        ):
            modes.add(mode)
            if mode == "messages" and isinstance(part[0], AIMessage):
                pieces.append(part[0].text)
        assert modes == {"messages", "custom", "values"} and "Pedro" in "".join(pieces)
        assert len(pieces) > 1
        state = graph.get_state(config())
        assert "Pedro" in last(state.values) and not state.next
        assert memory.run(memory.memory.list("ana"))[0].text == "Nome: Pedro"
    with opened(url) as memory:
        graph = create_thought_cycle(memory=memory, mind=RuleMind())
        assert "Pedro" in last(graph.invoke(said("Como me chamo?"), config("2"), context=ANA))


def test_many_threads_talk_at_once(url: str) -> None:
    with opened(url) as memory:
        saver = memory.enter(open_checkpointer(url))
        graph = create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver)

        def talk(name: str) -> str:
            context = Context(user_id=name, language="pt")
            graph.invoke(said(f"Meu nome é {name}"), config(name), context=context)
            return last(graph.invoke(said("Qual é o meu nome?"), config(name), context=context))

        names = ["Ana", "Bia", "Caio", "Davi", "Eva", "Fabio"]
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(talk, names))
        assert all(name in answer for name, answer in zip(names, answers, strict=True))


def test_a_model_streams_through_the_blocking_graph(url: str, fake_openai: FakeOpenAI) -> None:
    fake_openai.say("MemorySave", "Finish", model=HEAVY)
    fake_openai.say('[{"content": "Nome: Pedro", "bindings": ["nome"]}]', model=REASON)
    fake_openai.say(Reply("Guardei o seu nome, Pedro."), model=TALK)
    with opened(url) as memory:
        mind = LLMMind.from_settings(models(fake_openai))
        graph = create_thought_cycle(memory=memory, mind=mind)
        parts = list(graph.stream(said("Meu nome é Pedro"), config(), context=ANA, stream_mode="messages"))
        texts = [chunk.text for chunk, _ in parts if isinstance(chunk, AIMessage) and chunk.text]
        assert "".join(texts) == "Guardei o seu nome, Pedro." and len(texts) > 2
        memory.run(mind.aclose())


def test_the_graph_is_a_step_of_a_blocking_graph(url: str) -> None:
    with opened(url) as memory:
        outer = StateGraph(MessagesState, context_schema=Context)
        outer.add_node("katherine", create_thought_cycle(memory=memory, mind=RuleMind()))
        outer.add_edge(START, "katherine")
        values = outer.compile().invoke(said("Meu nome é Pedro"), config(), context=ANA)  # type: ignore[call-overload]
        assert "Pedro" in last(values)


async def test_the_asynchronous_calls_work_from_other_loops(url: str) -> None:
    with opened(url) as memory:
        graph = create_thought_cycle(memory=memory, mind=RuleMind())
        await graph.ainvoke(said("Meu nome é Pedro"), config(), context=ANA)
        shown: list[Any] = [
            part
            async for part in graph.astream(
                said("Qual é o meu nome?"), config("2"), context=ANA, stream_mode="messages"
            )
        ]
        assert "Pedro" in "".join(chunk.text for chunk, _ in shown)
        worker = create_worker(Services(memory.memory, RuleMind()))
        await asyncio.wrap_future(memory.start(worker.drain()))
        cycles = await asyncio.wrap_future(memory.start(memory.memory.conversation("ana", "1")))
        assert [cycle.formation for cycle in cycles] == ["done"]


async def test_a_memory_of_the_running_loop_refuses_blocking_calls(tmp_path: Path) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None) as memory:
        graph = create_thought_cycle(memory=memory, mind=RuleMind())
        with pytest.raises(InputRefused, match="in_background"):
            graph.invoke(said("oi"), context=ANA)
        with pytest.raises(InputRefused, match="in_background"):
            list(graph.stream(said("oi"), context=ANA, stream_mode="messages"))
