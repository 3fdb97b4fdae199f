"""The thought cycle as a node of somebody else's graph: memory across turns and threads, one per user."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from thoughtcycle.errors import NotAllowed
from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.memory.memory import Memory
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context


@dataclass
class Tenant:
    """The context of the outer application."""

    customer: str


@pytest.mark.spec("BY-5", "BY-6")
@pytest.mark.parametrize("state", [None, True], ids=["fresh each turn", "with state of its own"])
async def test_memory_is_kept_across_turns_and_threads(tmp_path: Path, state: bool | None) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=LexicalEmbeddings()) as memory:
        katherine = create_thought_cycle(
            memory=memory,
            mind=RuleMind(),
            context=lambda tenant: Context(user_id=tenant.customer, language="en"),
            checkpointer=state,
        )
        graph = StateGraph(MessagesState, context_schema=Tenant)
        graph.add_node("katherine", katherine)
        graph.add_edge(START, "katherine")
        app = graph.compile(checkpointer=InMemorySaver())

        async def say(text: str, thread: str, who: str) -> Any:
            config: Any = {"configurable": {"thread_id": thread}}
            values = await app.ainvoke({"messages": [("user", text)]}, config, context=Tenant(who))
            return values["messages"][-1].text

        await say("My name is Anastasia.", "1", "ana")
        assert "Anastasia" in await say("What is my name?", "1", "ana")
        assert "Anastasia" in await say("What is my name?", "2", "ana")
        assert "Anastasia" not in await say("What is my name?", "3", "bia")
        with pytest.raises(NotAllowed):
            await say("What is my name?", "1", "bia")
        assert len(await memory.transcript.branch("ana", "1/katherine")) == 2
