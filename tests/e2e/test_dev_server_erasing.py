"""What LangGraph's own server keeps of words that a user deletes: thread values, history, runs, its files."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from support.databases import KINDS, new_database
from support.dev_server import running_dev_server
from support.dev_talk import ASSISTANT, human

WORD = "Zaragoza"


async def say(client: LangGraphClient, thread: str, text: str) -> str:
    """The last reply."""
    values: Any = await client.runs.wait(thread, ASSISTANT, input=human(text), context={"user_id": "ana"})
    return str(values["messages"][-1]["content"])


async def shown(client: LangGraphClient, thread: str) -> dict[str, int]:
    """Where a client of the server still reads the word, and how often."""
    places = {
        "thread": await client.threads.get(thread),
        "search": await client.threads.search(limit=100),
        "state": await client.threads.get_state(thread),
        "history": await client.threads.get_history(thread, limit=100),
    }
    counts = {name: json.dumps(found, default=str).count(WORD) for name, found in places.items()}
    return {name: count for name, count in counts.items() if count}


async def messages(client: LangGraphClient, thread: str) -> list[str]:
    values: Any = (await client.threads.get_state(thread))["values"]
    return [str(message["content"]) for message in values["messages"]]


async def runs(client: LangGraphClient, *threads: str) -> list[str]:
    """The inputs of the runs that have the word."""
    found = [run for thread in threads for run in await client.runs.list(thread, limit=100)]
    return [str(run["kwargs"]["input"]) for run in found if WORD in json.dumps(run, default=str)]


@pytest.mark.spec("BY-9")
@pytest.mark.parametrize("backend", KINDS)
async def test_the_servers_copies_lose_the_words(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    db = f"sqlite:///{tmp_path}/dev.db"
    if backend == "mongodb":
        db = new_database(request.getfixturevalue("mongodb_url"))
    with running_dev_server(tmp_path, {"THOUGHTCYCLE_DB": db, "THOUGHTCYCLE_USER": "ana"}) as running:
        async with (
            get_client(url=running.url) as client,
            httpx.AsyncClient(base_url=running.url, timeout=60) as page,
        ):
            told, other = [(await client.threads.create())["thread_id"] for _ in "ab"]
            await say(client, told, f"Lembre que moro em {WORD}.")
            assert WORD in await say(client, other, "Onde eu moro?")
            assert (await shown(client, told)).keys() == {"thread", "search", "state", "history"}
            await say(client, told, f"Esqueça que moro em {WORD}.")
            assert [await shown(client, thread) for thread in (told, other)] == [{}, {}]
            assert WORD not in await say(client, other, "Onde eu moro?")
            said = await messages(client, told)

            every = (await page.get("/api/memories", params={"status": "hidden"})).json()
            ids = [one["id"] for one in every]
            answer = await page.post("/api/memories/erase", json={"ids": ids, "confirm": True})
            assert answer.status_code == 200 and answer.json()["left"] == []
            assert [await shown(client, thread) for thread in (told, other)] == [{}, {}]
            assert await runs(client, told, other) == []
            assert await messages(client, told) == said
            await say(client, told, "Oi, tudo bem?")
            assert (await messages(client, told))[: len(said)] == said

            answer = await page.post("/api/forget", json={"confirm": "ana"})
            assert answer.status_code == 200 and answer.json()["left"] == {}
            assert await client.threads.search(limit=100) == []
        running.process.terminate()
        await asyncio.to_thread(running.process.wait, 60)
    files = list((tmp_path / ".langgraph_api").iterdir())
    assert files and (tmp_path / ".langgraph_api").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert [path.name for path in files if WORD.encode() in path.read_bytes()] == []
