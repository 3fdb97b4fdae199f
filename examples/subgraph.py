"""The thought cycle as a node of another graph, with that graph's own context; memory lasts across turns."""

import asyncio
import sys
import tempfile
from dataclasses import dataclass

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.memory import Memory
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context


@dataclass
class Tenant:
    """The context of the outer application."""

    customer: str


async def main(folder: str) -> None:
    async with Memory.open(f"sqlite:///{folder}/memory.db", embeddings=LexicalEmbeddings()) as memory:
        katherine = create_thought_cycle(
            memory=memory, mind=RuleMind(), context=lambda tenant: Context(user_id=tenant.customer)
        )
        graph = StateGraph(MessagesState, context_schema=Tenant)
        graph.add_node("katherine", katherine)
        graph.add_edge(START, "katherine")
        app = graph.compile(checkpointer=InMemorySaver())
        for text in ("Moro em Recife e adoro jazz.", "Onde eu moro?"):
            values = await app.ainvoke(
                {"messages": [("user", text)]},
                {"configurable": {"thread_id": "1"}},
                context=Tenant(customer="ana"),
            )
            sys.stdout.write(f"> {text}\n{values['messages'][-1].text}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(folder))
