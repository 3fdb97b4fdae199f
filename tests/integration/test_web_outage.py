"""The database goes away in the middle of a turn of the page: the message is kept, and the page says so."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from support.doctor import problems
from support.memories import pragma
from support.web import RULES, events, said, serving, settings
from thoughtcycle.checkpoints import factory
from thoughtcycle.errors import StorageUnavailable
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.offline import outage
from thoughtcycle.memory.offline.outage import SpooledTranscript
from thoughtcycle.prompts.loader import texts
from thoughtcycle.web.app import create_app

SAY = ("messages", {"message": "Meu nome é Ana", "id": "lost"})
EDIT = ("edit", {"message": "Meu nome é Ana", "id": "lost", "replaces": "two"})


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "FIRST_DELAY", 0.05)
    monkeypatch.setattr(factory, "BUSY_SECONDS", 0.05)


@asynccontextmanager
async def talking(folder: Path) -> AsyncIterator[tuple[httpx.AsyncClient, FastAPI, Memory]]:
    """A client in whose chat two messages were answered."""
    app = create_app(settings(folder), RULES)
    async with serving(app) as client:
        memory = app.state.server.resources.services.memory
        assert isinstance(memory.transcript, SpooledTranscript)
        await pragma(memory, "busy_timeout = 50")
        for id, text in (("one", "Oi"), ("two", "Odeio coentro")):
            assert said(await client.post("/api/chats/c/messages", json={"message": text, "id": id}))
        yield client, app, memory


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    with closing(sqlite3.connect(folder / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def failing(saver: Any, after: int) -> Iterator[None]:
    """Its states can be kept no more, once `after` of them were."""
    put, left = saver.aput, after

    async def aput(*args: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise StorageUnavailable("memory.db")
        return await put(*args)

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(saver, "aput", aput)
        yield


async def kept(client: httpx.AsyncClient, path: str, body: dict[str, str]) -> None:
    """The turn fails with the one line that says so."""
    answer = await client.post(f"/api/chats/c/{path}", json=body, headers={"accept-language": "pt"})
    (failure,) = [data for name, data in events(answer) if name == "failure"]
    assert failure["code"] == "turn_kept"
    assert "sua mensagem fica guardada" in failure["message"] and "\n" not in failure["message"]


async def goes_on(client: httpx.AsyncClient, memory: Memory) -> list[str]:
    """The messages of the chat, once everything has arrived and another one was answered."""
    async with asyncio.timeout(20):
        while memory.availability.waiting or memory.availability.unreadable:
            await asyncio.sleep(0.02)
    talk = [cycle.message.text for cycle in await memory.conversation("ana", "c", limit=9)]
    assert talk[-1] == "Meu nome é Ana"
    assert said(await client.post("/api/chats/c/messages", json={"message": "Tenho um gato"}))
    after = [cycle.message.text for cycle in await memory.conversation("ana", "c", limit=9)]
    assert after[:-1] == talk and after[-1].endswith("Tenho um gato")
    assert await problems(memory.core.storage, "ana") == []
    return talk


@pytest.mark.spec("CM-8")
@pytest.mark.parametrize("turn", [SAY, EDIT], ids=["say", "edit"])
async def test_with_the_database_away_the_message_is_kept(
    tmp_path: Path, turn: tuple[str, dict[str, str]]
) -> None:
    async with talking(tmp_path) as (client, _, memory):
        with locked(tmp_path):
            await kept(client, *turn)
            with pytest.MonkeyPatch.context() as away:
                away.setattr(memory.availability, "unreadable", True)
                for path in ("/", "/chats/c"):  # where one can go on talking
                    page = await client.get(path)
                    assert page.status_code == 200 and texts("en", "page")["away"] in page.text
        assert (await goes_on(client, memory))[0] == "Oi"


@pytest.mark.spec("CM-8")
@pytest.mark.parametrize("turn", [SAY, EDIT], ids=["say", "edit"])
@pytest.mark.parametrize("after", [0, 2, 5])
async def test_when_it_goes_away_in_the_middle_the_message_is_kept_once(
    tmp_path: Path, turn: tuple[str, dict[str, str]], after: int
) -> None:
    async with talking(tmp_path) as (client, app, memory):
        with failing(app.state.server.resources.checkpointer, after):
            await kept(client, *turn)
        assert (await goes_on(client, memory)).count("Meu nome é Ana") == 1


@pytest.mark.spec("BY-10")
async def test_an_incognito_message_is_not_kept(tmp_path: Path) -> None:
    async with talking(tmp_path) as (client, _, memory):
        with failing(InMemorySaver, 0):
            answer = await client.post("/api/chats/d/messages", json={"message": "Oi", "incognito": True})
        assert [data["code"] for name, data in events(answer) if name == "failure"] == ["storage_unavailable"]
        assert not memory.availability.waiting and await memory.conversation("ana", "d") == []
