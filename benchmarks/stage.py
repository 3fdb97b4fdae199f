"""A thought cycle with an instant mind over a database of a given size."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage

from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.graph.thought_cycle import ThoughtCycle, create_thought_cycle
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.mind.base import Mind, Question, View
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.base.context import Context

T = TypeVar("T")
WORDS = [f"{stem}{ending}" for stem in ("mar", "sol", "rio", "flor", "pao") for ending in "abcdefghij"]


class StubEmbeddings(Embeddings):
    """384 dimensions cut out of one long row of noise: as large as MiniLM's vectors, at no cost worth counting."""

    name = "stub-384"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        start = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest()) % (len(NOISE) - 384)
        row: list[float] = NOISE[start : start + 384].tolist()
        return row

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)


NOISE = np.random.default_rng(0).standard_normal(1_000_000)


class InstantMind(Mind):
    """Searches once, then finishes; no time is spent on thinking."""

    async def ask(self, question: Question[T], view: View) -> T:
        answer: Any = ["mara sola"]
        if question.name.startswith("router"):
            answer = "Finish" if view.steps else "MemorySearch"
        return answer  # type: ignore[no-any-return]

    async def reply(
        self,
        question: Question[str],
        view: View,
        *,
        chat_history: bool,
        modal: str = "text",
        on_text: Any = None,
    ) -> AIMessage:
        text = "Uma resposta curta, como as que se dão em uma conversa."
        return await speak(text, chat_history=chat_history, modal=modal, on_text=on_text)


@asynccontextmanager
async def stage(folder: Path, memories: int) -> AsyncIterator[tuple[ThoughtCycle, Memory, Any]]:
    """The graph, its memory with `memories` memories of user `bench`, and its checkpointer."""
    url = f"sqlite:///{folder}/bench.db"
    async with Memory.open(url, embeddings=StubEmbeddings()) as memory, open_checkpointer(url) as saver:
        drafts = [MemoryDraft(content=sentence(number)) for number in range(memories)]
        for start in range(0, memories, 250):
            await memory.save("bench", drafts[start : start + 250])
        yield create_thought_cycle(memory=memory, mind=InstantMind(), checkpointer=saver), memory, saver


def sentence(number: int) -> str:
    words = (WORDS[(number * step + step) % len(WORDS)] for step in (1, 3, 7, 11, 13))
    return f"Fato {number}: {' '.join(words)}"


async def one_turn(graph: Any, number: int, thread: str = "bench") -> None:
    """Runs a turn like the command line, and consumes the whole stream."""
    async for _ in graph.astream(
        {"messages": [HumanMessage(f"Mensagem {number} sobre mara e sola, do tamanho de sempre.")]},
        {"configurable": {"thread_id": thread}},
        context=Context(user_id="bench", language="pt"),
        stream_mode=["custom", "messages", "updates"],
        durability="async",
    ):
        pass
