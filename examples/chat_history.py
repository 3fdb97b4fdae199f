"""A chat kept as LangChain's chat message history; memories are formed from it behind the replies."""

import asyncio
import sys
import tempfile

from langchain_core.messages import HumanMessage
from model import chat_model

from thoughtcycle.integrations.chat_history import ThoughtCycleChatHistory
from thoughtcycle.memory import Memory
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import create_worker


async def main(url: str) -> None:
    model = chat_model()
    async with Memory.open(url, embeddings=LexicalEmbeddings()) as memory:
        for text in ("I live in Lisbon.", "Where do I live?"):
            history = ThoughtCycleChatHistory(memory, user="ana", chat="1")
            said = HumanMessage(text)
            reply = await model.ainvoke([*await history.aget_messages(), said])
            await history.aadd_messages([said, reply])
        for message in await history.aget_messages():
            sys.stdout.write(f"{message.type}: {message.text}\n")
        await create_worker(Services(memory, RuleMind())).drain()
        sys.stdout.write(f"learned: {[record.text for record in await memory.list('ana')]}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(f"sqlite:///{folder}/memory.db"))
