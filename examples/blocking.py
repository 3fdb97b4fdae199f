"""The thought cycle in a program without an event loop: the memory has one of its own."""

import sys
import tempfile
from typing import Any

from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.integrations.loop_bridge import in_background
from thoughtcycle.memory import Memory
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context


def main(folder: str) -> None:
    url = f"sqlite:///{folder}/memory.db"
    with in_background(Memory.open(url, embeddings=LexicalEmbeddings())) as memory:
        saver = memory.enter(open_checkpointer(url))
        graph = create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver)
        chat: Any = {"config": {"configurable": {"thread_id": "chat"}}, "context": Context(user_id="peter")}
        graph.invoke({"messages": [("user", "My name is Peter and I hate coriander.")]}, **chat)
        asked = {"messages": [("user", "What do you know about me?")]}
        for chunk, _ in graph.stream(asked, **chat, stream_mode="messages"):
            sys.stdout.write(chunk.text)
        sys.stdout.write("\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
