"""`langgraph dev` that is told to stop, or killed, in the middle of a reply, and what is there afterwards."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.errors import NotFoundError

from support.dev_server import Running, running_dev_server
from support.dev_talk import ASSISTANT, SLOW, Server, Talk, answers, closes, human
from support.dialogue import environment
from support.fake_openai import Behaviour, FakeOpenAI, Recorded, Reply
from thoughtcycle.memory.memory import Memory

Start = Callable[[], AbstractContextManager[Running]]


def endless(request: Recorded) -> Behaviour:
    """As `answers`, but no reply comes to its end."""
    known = answers(request)
    return Reply(SLOW, hold_after=9) if closes(request) else known


@pytest.fixture
def start(tmp_path: Path, fake_openai: FakeOpenAI) -> Start:
    """Starts the server in the same folder, over the same database, each time."""
    settings = {"THOUGHTCYCLE_DB": f"sqlite:///{tmp_path}/dev.db", "THOUGHTCYCLE_USER": "rui"}
    return lambda: running_dev_server(tmp_path, environment(fake_openai) | settings)


async def hear(come: list[str], url: str, path: str, body: dict[str, object]) -> None:
    """Adds what comes of a streamed reply until the server ends it."""
    async with (
        httpx.AsyncClient(base_url=url, timeout=60) as client,
        client.stream("POST", path, json=body) as answer,
    ):
        assert answer.status_code == 200
        with suppress(httpx.RemoteProtocolError):
            async for piece in answer.aiter_text():
                come.append(piece)


async def arrived(*come: list[str]) -> None:
    """Until all that is said of these replies has come."""
    async with asyncio.timeout(60):
        while not all("palavra8" in "".join(pieces) for pieces in come):
            await asyncio.sleep(0.02)


@pytest.mark.spec("TC-13", "BY-1")
async def test_stopped_killed_and_begun_again(start: Start, tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    """A reply is cut and kept, its run begun again; a thread whose record is lost has its state again."""
    db = f"sqlite:///{tmp_path}/dev.db"
    fake_openai.answer = endless
    with start() as running:
        async with get_client(url=running.url) as client:
            thread = (await client.threads.create())["thread_id"]
        run = {
            "assistant_id": ASSISTANT,
            "input": human("ana: meu nome é Pedro"),
            "context": {"user_id": "ana"},
        }
        path, streamed = f"/threads/{thread}/runs/stream", {**run, "stream_mode": "messages-tuple"}
        theirs: list[str] = []
        ours: list[str] = []
        async with asyncio.TaskGroup() as hearing:
            hearing.create_task(hear(theirs, running.url, path, streamed))
            hearing.create_task(
                hear(ours, running.url, "/api/chats/c/messages", {"message": "Oi, Katherine"})
            )
            await arrived(theirs, ours)
            running.process.terminate()
            await asyncio.to_thread(running.process.wait, 60)
        assert not any("palavra9" in "".join(come) for come in (theirs, ours))
    async with Memory.open(db, embeddings=None) as memory:
        (left,) = await memory.core.storage.transcript.open_cycles(user="ana", chat=thread)
        assert "palavra0 palavra1" in str(left)
        (cycle,) = await memory.conversation("rui", "c")
        assert cycle.variants[-1].cut and cycle.replies[-1].text.startswith("palavra0 palavra1")

    fake_openai.reset()
    fake_openai.answer = answers
    fake_openai.go_on()
    with start() as running:
        async with get_client(url=running.url) as client:
            talk = Talk(Server(running.url, db, tmp_path / "dev.log"), client, "ana", thread)
            (again,) = await client.runs.list(thread)
            await client.runs.join(thread, again["run_id"])
            assert await talk.kept() == [(talk.first, "Guardei.", SLOW)]
            assert await talk.known() == ["Nome: Pedro"]
            await talk.say("dois")
            running.process.kill()
            await asyncio.to_thread(running.process.wait, 60)
    shutil.rmtree(tmp_path / ".langgraph_api")  # what it had not written yet, too

    with start() as running:
        async with get_client(url=running.url) as client:
            talk = Talk(talk.server, client, "ana", thread)
            with pytest.raises(NotFoundError):
                await client.threads.get_state(thread)
            await client.threads.create(thread_id=thread, graph_id=ASSISTANT, if_exists="do_nothing")
            state = await client.threads.get_state(thread)
            before = [talk.first, "Guardei.", SLOW, "dois", "Resposta a dois."]
            assert [message["content"] for message in state["values"]["messages"]] == before
            assert await talk.say("três") == [*before, "três", "Resposta a três."]
            assert [cycle[0] for cycle in await talk.kept()] == [talk.first, "dois", "três"]
            assert await talk.known() == ["Nome: Pedro"]
