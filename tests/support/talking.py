"""A small conversation as a graph, to try a saver with."""

from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

from thoughtcycle.checkpoints.mongodb import MongoSaver
from thoughtcycle.checkpoints.sqlite import SqliteSaver

Saver = SqliteSaver | MongoSaver


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: list[dict[str, Any]]


def answer(state: State) -> dict[str, Any]:
    return {
        "messages": [AIMessage(f"to {state['messages'][-1].text}", additional_kwargs={"modal": "text"})],
        "steps": [{"action": "finish", "input": None}],
    }


def talk(saver: Saver) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Two steps a turn: one that writes nothing and one that answers."""
    builder = StateGraph(State)
    builder.add_node("think", lambda state: {"steps": []})
    builder.add_node("answer", answer)
    builder.add_edge(START, "think")
    builder.add_edge("think", "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


def thread() -> RunnableConfig:
    return {"configurable": {"thread_id": str(uuid4())}}


async def say(graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig, *texts: str) -> None:
    for text in texts:
        await graph.ainvoke({"messages": [HumanMessage(text)]}, config, durability="async")


async def words(graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig) -> list[str]:
    return [message.text for message in (await graph.aget_state(config)).values.get("messages", [])]


async def stored(saver: Saver, config: RunnableConfig) -> int:
    return len([found async for found in saver.alist(config)])
