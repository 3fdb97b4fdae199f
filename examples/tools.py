"""The memory tools in a graph of one's own: any chat model that calls tools, the user from the run."""

import asyncio
import sys
import tempfile

from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from model import chat_model

from thoughtcycle.integrations.tools import memory_tools
from thoughtcycle.memory import Memory, MemoryDraft
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.nodes.base.context import Context


async def main(url: str) -> None:
    async with Memory.open(url, embeddings=LexicalEmbeddings()) as memory:
        await memory.save("ana", [MemoryDraft(content="Hates coriander", kind="pref", bindings=("food",))])
        tools = memory_tools(memory, language="en")
        model = chat_model(("search_memory", {"query": "food"})).bind_tools(tools)

        async def think(state: MessagesState) -> MessagesState:
            return {"messages": [await model.ainvoke(state["messages"])]}

        graph = StateGraph(MessagesState, context_schema=Context)
        graph.add_node("think", think)
        graph.add_node("tools", ToolNode(tools))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", tools_condition)
        graph.add_edge("tools", "think")
        asked = {"messages": [("user", "What do I not like to eat?")]}
        values = await graph.compile().ainvoke(asked, context=Context(user_id="ana"))
        sys.stdout.write(f"{values['messages'][-1].text}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(f"sqlite:///{folder}/memory.db"))
