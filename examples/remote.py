"""The thought cycle of a running `make dev` as a node of a graph elsewhere, through RemoteGraph."""

import asyncio
import sys
from uuid import uuid4

import httpx
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.runtime import Runtime

from thoughtcycle.nodes.base.context import Context


async def main(url: str) -> None:
    remote = RemoteGraph(
        "thought_cycle", url=url
    )  # headers={"Authorization": …} where the server asks for it

    async def katherine(
        state: MessagesState, config: RunnableConfig, runtime: Runtime[Context]
    ) -> MessagesState:
        said = {"messages": state["messages"][-1:]}
        values = await remote.ainvoke(said, config, context={"user_id": runtime.context.user_id})
        return {"messages": values["messages"][-1:]}

    graph = StateGraph(MessagesState, context_schema=Context)
    graph.add_node("katherine", katherine)
    graph.add_edge(START, "katherine")
    app = graph.compile(checkpointer=InMemorySaver())
    for text in ("My name is Peter and I hate coriander.", "What do you know about me?"):
        config: RunnableConfig = {"configurable": {"thread_id": str(uuid4())}}
        values = await app.ainvoke({"messages": [("user", text)]}, config, context=Context(user_id="peter"))
        sys.stdout.write(f"> {text}\n{values['messages'][-1].text}\n")


if __name__ == "__main__":
    address = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:2024"
    try:
        asyncio.run(main(address))
    except httpx.TransportError:
        sys.exit(f"No server answers at {address}. Start one with: make dev")
