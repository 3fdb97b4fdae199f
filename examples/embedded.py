"""The thought cycle inside your own program: rules, one SQLite file, no key."""

import asyncio
import sys
import tempfile

from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.memory import Memory
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context


async def main(folder: str) -> None:
    url = f"sqlite:///{folder}/memory.db"
    async with Memory.open(url, embeddings=LexicalEmbeddings()) as memory, open_checkpointer(url) as saver:
        graph = create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver)
        said = ("My name is Peter and I hate coriander.", "What do you know about me?")
        for number, text in enumerate(said):
            values = await graph.ainvoke(
                {"messages": [("user", text)]},
                {"configurable": {"thread_id": f"chat {number}"}},
                context=Context(user_id="peter"),
            )
            sys.stdout.write(f"> {text}\n{values['messages'][-1].text}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(folder))
