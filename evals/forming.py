"""A LoCoMo conversation as the product takes it in: chats of one user, understood behind the replies."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from thoughtcycle.evals.asking import fresh_memory
from thoughtcycle.evals.locomo import Conversation, Fed, feed
from thoughtcycle.graph.upkeep import create_worker
from thoughtcycle.memory.embedder import Embedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.services import Services

LATER = timedelta(days=1)
"""How long after the last session questions are asked; the garden is tended meanwhile."""


@dataclass
class Clock:
    """Stands where it is put."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True)
class Formed:
    """What became of a conversation."""

    memory: Memory
    fed: Mapping[str, Fed]
    """Turn → where it is kept."""
    now: datetime
    """A day after the last session."""


@asynccontextmanager
async def formed(conversation: Conversation, embeddings: Embedder | None) -> AsyncIterator[Formed]:
    """The conversation recorded in a database of its own, understood by rules, its garden tended once."""
    clock = Clock(max(moment for moment, _ in conversation.sessions) + LATER / 2)
    async with fresh_memory(embeddings, clock) as memory:
        fed = await feed(memory, conversation, formation="pending")
        worker = create_worker(Services(memory, RuleMind(), language="en", clock=clock))
        await worker.drain()
        clock.now += LATER
        await worker.drain()
        if await memory.pending_cycles(conversation.name, limit=1):
            raise RuntimeError("some of the conversation could not be understood; the log says why")
        yield Formed(memory, fed, clock.now)
