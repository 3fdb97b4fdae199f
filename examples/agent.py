"""A `create_agent` agent that remembers, for several users; and the same without an event loop."""

import asyncio
import sys
import tempfile

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from model import chat_model

from thoughtcycle.integrations.loop_bridge import in_background
from thoughtcycle.integrations.middleware import ThoughtCycleMiddleware
from thoughtcycle.memory import Memory
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import create_worker


async def main(url: str) -> None:
    async with Memory.open(url, embeddings=LexicalEmbeddings()) as memory:
        agent = create_agent(
            chat_model(),
            system_prompt="You are a travel agent.",
            middleware=[ThoughtCycleMiddleware(memory, language="en")],
            context_schema=Context,
            checkpointer=InMemorySaver(),
        )

        async def say(user: str, thread: str, text: str) -> None:
            given = {"messages": [("user", text)]}
            config = {"configurable": {"thread_id": thread}}
            values = await agent.ainvoke(given, config, context=Context(user_id=user))
            sys.stdout.write(f"{user}> {text}\n{values['messages'][-1].text}\n")

        await say("ana", "1", "I live in Lisbon and I can't stand flying.")
        worker = create_worker(Services(memory, RuleMind()))
        await (
            worker.drain()
        )  # a service has `asyncio.create_task(worker.run())` beside it, or `thoughtcycle worker`
        await say("ana", "2", "How could I get from home to Madrid?")
        await say("bia", "3", "How could I get from home to Madrid?")


def blocking(url: str) -> None:
    with in_background(Memory.open(url, embeddings=LexicalEmbeddings())) as memory:
        middleware = ThoughtCycleMiddleware(memory, language="en", single_user="ana")
        agent = create_agent(chat_model(), middleware=[middleware])
        values = agent.invoke({"messages": [("user", "Where do I live?")]})
        sys.stdout.write(f"without an event loop: {values['messages'][-1].text}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/memory.db"
        asyncio.run(main(database))
        blocking(database)
