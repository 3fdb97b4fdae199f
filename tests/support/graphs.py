"""Opens the real thing for a test: SQLite, checkpointer, and the mind asked for."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage

from support.fake_openai import FakeOpenAI
from support.leaping import PATIENCE
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.graph.thought_cycle import ThoughtCycle, create_thought_cycle
from thoughtcycle.memory.core.worker import Kind, Worker
from thoughtcycle.memory.erasure.service import GRACE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import utc_now
from thoughtcycle.mind.base import Explain, Mind
from thoughtcycle.mind.embeddings import NamedEmbeddings, build_embeddings
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.mind.model_settings import ModelSettings, RoleSettings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.mind.streaming import BEGUN
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import enqueue_formation
from thoughtcycle.runtime.upkeep import job_kinds as jobs_of


def models(server: FakeOpenAI, timeout: float = PATIENCE) -> ModelSettings:
    """Every role on the fake server, each with a model name of its own."""
    return ModelSettings(
        openai_api_key="sk-test-secret",
        openai_base_url=server.url,
        reasoning_heavy=RoleSettings(model="heavy", timeout=timeout),
        reasoning=RoleSettings(model="reason", timeout=timeout),
        chat=RoleSettings(model="talk", timeout=timeout),
        background=RoleSettings(model="back", timeout=timeout),
        embedding=RoleSettings(model="embed", timeout=timeout),
    )


def one_model(server: FakeOpenAI, timeout: float = PATIENCE, **given: Any) -> ModelSettings:
    """One model for all roles but the background, so that it may decide with tools."""
    talk = RoleSettings(model="talk", timeout=timeout)
    roles = {"reasoning_heavy": talk, "reasoning": talk, "chat": talk}
    return models(server, timeout).model_copy(update={**roles, **given})


@dataclass
class Lab:
    """An open graph and what it stands on."""

    graph: ThoughtCycle
    memory: Memory
    mind: Mind
    checkpointer: Any
    limits: Limits | None = None
    clock: Callable[[], datetime] = utc_now
    jobs: dict[str, Kind] = field(default_factory=dict)
    """What a worker does, once it was asked."""

    @property
    def services(self) -> Services:
        """What a worker needs."""
        return Services(self.memory, self.mind, self.limits or Limits(), clock=self.clock)

    async def say(self, text: Any, thread: str = "t", **context: Any) -> dict[str, Any]:
        """One turn; the values at its end."""
        return [values async for values in self._values(text, thread, context)][-1]

    async def answer(self, text: Any, thread: str = "t", **context: Any) -> str:
        """All texts of the reply of one turn, in order, as they were shown before the turn's end redacts them."""
        shown: dict[str | None, str] = {}
        async for values in self._values(text, thread, context):
            for message in replied(values):
                if BEGUN not in message.additional_kwargs:
                    shown.setdefault(message.id, message.text)
        return " ".join(shown.values())

    def _values(self, text: Any, thread: str, context: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        return self.graph.astream(
            {"messages": [HumanMessage(text)]},
            {"configurable": {"thread_id": thread}},
            context=Context(**{"user_id": "ana", **context}),
            durability="async",
            stream_mode="values",
        )

    async def understand(self, *kinds: str) -> None:
        """Does what a worker has to do by now; of jobs of these kinds only, where some are named."""
        if not self.jobs:
            self.jobs.update(jobs_of(self.services, GRACE))
        chosen = {name: job for name, job in self.jobs.items() if not kinds or name in kinds}
        await Worker(self.memory.queue, chosen, look=lambda: enqueue_formation(self.memory)).drain()


def replies(values: dict[str, Any]) -> str:
    """What was said after the last user message."""
    return " ".join(message.text for message in replied(values))


def replied(values: dict[str, Any]) -> list[AnyMessage]:
    """The messages after the last user message; all where there is none."""
    messages: list[AnyMessage] = values["messages"]
    asked = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    return messages[asked[-1] + 1 :] if asked else messages


@asynccontextmanager
async def lab(
    folder: Path,
    server: FakeOpenAI | None = None,
    *,
    mind: Mind | None = None,
    limits: Limits | None = None,
    timeout: float = PATIENCE,
    clock: Callable[[], datetime] = utc_now,
    url: str | None = None,
    explain: Explain = "on",
    **graph: Any,
) -> AsyncIterator[Lab]:
    """A rule mind, or a model mind on `server`, over the database `url`, else one SQLite file in `folder`.

    Each action explains itself, unless `explain` says otherwise.
    """
    url = url or f"sqlite:///{folder}/lab.db"
    settings = models(server, timeout) if server else ModelSettings(openai_api_key=None, openai_base_url=None)
    limits = (limits or Limits()).model_copy(update={"explain_actions": explain})
    mind = mind or (LLMMind.from_settings(settings) if server else RuleMind())
    embeddings = build_embeddings(settings)
    async with (
        Memory.open(url, embeddings=embeddings, clock=clock) as memory,
        open_checkpointer(url) as saver,
    ):
        cycle = create_thought_cycle(
            memory=memory, mind=mind, checkpointer=saver, limits=limits, clock=clock, **graph
        )
        try:
            yield Lab(cycle, memory, mind, saver, limits, clock)
        finally:
            if isinstance(mind, LLMMind):
                await mind.aclose()
            if isinstance(embeddings, NamedEmbeddings):
                await embeddings.aclose()
