"""Chats under the dev server with a model that saves the name it is told and then says a reply only in part."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from langgraph_sdk.client import LangGraphClient

from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import Behaviour, Recorded, Reply, Status
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryRecord
from thoughtcycle.prompts.loader import texts

ASSISTANT = "thought_cycle"
SLOW = " ".join(f"palavra{number}" for number in range(12))
BEGUN = "palavra2"
"""The last word of it before the test lets the model go on."""


@dataclass(frozen=True)
class Server:
    """A running dev server and the database beneath it."""

    url: str
    db: str
    log: Path

    async def memories(self, user: str) -> list[MemoryRecord]:
        async with Memory.open(self.db, embeddings=None) as memory:
            return await memory.list(user)


def human(text: Any) -> dict[str, Any]:
    return {"messages": [{"role": "human", "content": text}]}


def closes(request: Recorded) -> bool:
    """Whether the text that ends a cycle is asked for, not what is told of an action."""
    task, _, _ = texts("pt", "actions/finish")["tell"].partition("{{")
    return request.model == TALK and task in request.text("system")


def answers(request: Recorded) -> Behaviour:
    """Saves the name it is told, stops in the reply to it until the test lets it go on, and answers anything else."""
    said = request.text("user")
    told = "Pedro" in said.splitlines()[-1]
    saved = "MemorySave(" in request.prompt
    if request.model == HEAVY:
        return "MemorySave" if told and not saved else "Finish"
    if request.model == REASON:
        return '[{"type": "text", "content": "Nome: Pedro", "bindings": ["nome"]}]'
    if request.model != TALK:
        return Status(500)
    if not closes(request):
        return "Guardei."
    return Reply(SLOW, hold_after=3) if told else f"Resposta a {said.splitlines()[-1]}."


@dataclass
class Talk:
    """One user's chat under the dev server."""

    server: Server
    client: LangGraphClient
    user: str
    thread: str

    @property
    def first(self) -> str:
        return f"{self.user}: meu nome é Pedro"

    async def begin(self, **options: Any) -> str:
        """Says the first message, and gives its run once a part of the reply to it has been said."""
        given = {"input": human(self.first), "context": {"user_id": self.user}, **options}
        stream = self.client.runs.stream(self.thread, ASSISTANT, **given, stream_mode="messages-tuple")
        run = ""
        async for part in stream:
            run = part.data["run_id"] if part.event == "metadata" else run
            if part.event == "messages" and BEGUN in part.data[0]["content"]:
                break
        await cast(AsyncGenerator[Any, None], stream).aclose()
        return run

    async def say(self, text: str, **options: Any) -> list[str]:
        """The thread's messages after a turn."""
        given = {"input": human(text), "context": {"user_id": self.user}, **options}
        values = await self.client.runs.wait(self.thread, ASSISTANT, **given)
        return [message["content"] for message in values["messages"]]

    async def kept(self) -> list[tuple[str, ...]]:
        """What the live branch of the transcript holds: each message with all that was answered to it."""
        async with Memory.open(self.server.db, embeddings=None) as memory:
            live = await memory.conversation(self.user, self.thread, limit=10)
        assert all(len(cycle.variants) == 1 for cycle in live)
        return [(cycle.message.text, *(reply.text for reply in cycle.replies)) for cycle in live]

    async def known(self) -> list[str]:
        return [record.text for record in await self.server.memories(self.user)]


def cut(replies: Sequence[str]) -> bool:
    """Whether the slow reply was kept as far as it went, behind what was told of the save."""
    told, reply = replies
    return told == "Guardei." and SLOW.startswith(reply) and 0 < len(reply) < len(SLOW)
