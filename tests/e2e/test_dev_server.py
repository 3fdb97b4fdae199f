"""The same graph under `langgraph dev`, talked to with the SDK client."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from support.databases import new_database
from support.dev_server import dev_server
from support.dialogue import HEAVY, TALK, TURNS, environment, watch
from support.fake_openai import FakeOpenAI, Reply
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.owners import item_space
from thoughtcycle.memory.records import CycleMessage, MemoryDraft, MemoryRecord, utc_now

ASSISTANT = "thought_cycle"


@dataclass(frozen=True)
class Server:
    """A running dev server and the database beneath it."""

    url: str
    db: str
    log: Path

    async def memories(self, user: str) -> list[MemoryRecord]:
        async with Memory.open(self.db, embeddings=None) as memory:
            return await memory.list(user)


@pytest.fixture(scope="module", params=["sqlite", "mongodb"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, fake_openai_server: FakeOpenAI
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("dev")
    db = f"sqlite:///{folder}/dev.db"
    if request.param == "mongodb":
        db = new_database(request.getfixturevalue("mongodb_url"))
    with dev_server(folder, environment(fake_openai_server) | {"THOUGHTCYCLE_DB": db}) as url:
        yield Server(url, db, folder / "dev.log")


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server.url) as client:
        yield client


async def parts(stream: AsyncIterator[Any]) -> AsyncIterator[tuple[str, Any]]:
    """The SDK's parts as (mode, data); a failed run raises."""
    async for part in stream:
        if part.event == "error":
            raise AssertionError(part.data)
        yield part.event, part.data


def human(text: Any) -> dict[str, Any]:
    return {"messages": [{"role": "human", "content": text}]}


@pytest.mark.spec("TC-1", "TC-13", "TC-3")
async def test_the_dialogue(server: Server, client: LangGraphClient, fake_openai: FakeOpenAI) -> None:
    thread = (await client.threads.create())["thread_id"]
    for turn in TURNS:
        turn.script(fake_openai, {record.text: record.id for record in await server.memories("ana")})
        stream = client.runs.stream(
            thread,
            ASSISTANT,
            input=human(turn.message),
            context={"user_id": "ana"},
            stream_mode=["custom", "messages-tuple"],
        )
        turn.check(await watch(parts(stream)))
    assert {record.text for record in await server.memories("ana")} == {
        "Nome: Pedro",
        "Come peixe, não é mais vegetariano",
    }


async def test_the_drawing_shows_every_action(client: LangGraphClient) -> None:
    drawn = await client.assistants.get_graph(ASSISTANT)
    names = {node["id"] for node in drawn["nodes"]}
    actions = {"MemorySearch", "MemorySave", "MemoryUpdate", "MemoryDelete", "Question", "Finish"}
    assert names >= {"command", "recall", "router", "remember", *actions}
    edges = {(edge["source"], edge["target"]) for edge in drawn["edges"]}
    assert edges >= {("router", action) for action in actions}
    assert edges >= {(action, "router") for action in actions if action.startswith("Memory")}


async def test_three_graphs_are_listed_with_descriptions_and_schemas(client: LangGraphClient) -> None:
    listed = {one["graph_id"]: one for one in await client.assistants.search(limit=20)}
    assert set(listed) == {"thought_cycle", "formation", "garden"}
    inputs = {}
    for name, one in listed.items():
        assert one["description"]
        schemas = await client.assistants.get_schemas(one["assistant_id"])
        inputs[name] = set((schemas["input_schema"] or {})["properties"])
        assert "user_id" in (schemas["context_schema"] or {})["properties"]
    assert inputs == {"thought_cycle": {"messages"}, "formation": {"cycle_id"}, "garden": {"dry_run"}}


@pytest.mark.spec("SM-1", "HM-7")
async def test_formation_and_garden_run_through_the_sdk(server: Server, client: LangGraphClient) -> None:
    at = utc_now()
    said = CycleMessage(id="m1", role="user", text="Oi, tudo bem?", at=at)
    reply = CycleMessage(id="m2", role="assistant", text="Tudo!", at=at)
    async with Memory.open(server.db, embeddings=None) as memory:
        cycle = await memory.open_cycle("gil", "chat-of-gil", said, parent=None, channel="test")
        await memory.close_cycle("gil", cycle.id, execution="1", messages=[reply], steps=[])
        felt = MemoryDraft(content="ansioso com prazos", kind="emo", said=at - timedelta(days=90))
        await memory.save("gil", [felt])
    who = {"user_id": "gil"}
    formed = await client.runs.wait(None, "formation", input={"cycle_id": cycle.id}, context=who)
    assert (formed["cycle_id"], formed["done"]) == (cycle.id, True)
    planned = await client.runs.wait(None, "garden", input={"dry_run": True}, context=who)
    left = await server.memories("gil")
    if left:  # the server's own worker may have tended the garden already
        assert planned["counts"]["archive"] == len(left) == 1
    done = await client.runs.wait(None, "garden", input={"dry_run": False}, context=who)
    assert set(done["counts"]) == {"merge", "archive", "prioritise", "condense"}
    assert await server.memories("gil") == []


@pytest.mark.spec("BY-6", "BY-5")
async def test_the_servers_store_is_ours(server: Server, client: LangGraphClient) -> None:
    own = ["ana%40example%2Ecom", "facts"]
    await client.store.put_item(own, "k", {"text": "mora no Recife"})
    await client.store.put_item(["bia", "facts"], "k", {"text": "mora em Natal"}, ttl=60)
    found = (await client.store.search_items(own[:1], query="Recife"))["items"]
    assert [item["value"]["text"] for item in found] == ["mora no Recife"] and found[0]["score"]
    assert (await client.store.list_namespaces(prefix=["bia"]))["namespaces"] == [["bia", "facts"]]
    async with Memory.open(server.db, embeddings=None) as memory:
        assert len(await memory.list(item_space("ana@example.com"))) == 1
    await client.store.delete_item(own, "k")
    assert (await client.store.search_items(own[:1]))["items"] == []


@pytest.mark.spec("BY-5")
async def test_without_a_user_the_run_fails_closed(client: LangGraphClient) -> None:
    thread = (await client.threads.create())["thread_id"]
    seen = []
    with pytest.raises(AssertionError, match="NotAllowed"):
        async for _, data in parts(
            client.runs.stream(thread, ASSISTANT, input=human("oi"), stream_mode="custom")
        ):
            seen.append(data)
    assert "user_id" in seen[-1]["content"] and seen[-1]["role"] == "system"


@pytest.mark.spec("BY-5")
async def test_another_users_thread_is_refused(client: LangGraphClient, fake_openai: FakeOpenAI) -> None:
    thread = (await client.threads.create())["thread_id"]
    fake_openai.say("Finish", model=HEAVY)
    fake_openai.say("Olá!", model=TALK)
    await client.runs.wait(thread, ASSISTANT, input=human("oi"), context={"user_id": "bia"})
    with pytest.raises(AssertionError, match="NotAllowed"):
        run = client.runs.stream(thread, ASSISTANT, input=human("oi"), context={"user_id": "eve"})
        async for _ in parts(run):
            pass


@pytest.mark.spec("TC-2")
async def test_blocks_regenerate_and_edit(
    server: Server, client: LangGraphClient, fake_openai: FakeOpenAI
) -> None:
    thread = (await client.threads.create())["thread_id"]
    who = {"user_id": "caio"}
    fake_openai.say("Finish", model=HEAVY)
    fake_openai.say("Primeira resposta.", model=TALK)
    await client.runs.wait(thread, ASSISTANT, input=human([{"type": "text", "text": "Olá"}]), context=who)

    history = await client.threads.get_history(thread)
    before_finish = next(state for state in history if "Finish" in state["next"])
    fake_openai.say("Segunda resposta.", model=TALK)
    again = await client.runs.wait(
        thread, ASSISTANT, input=None, context=who, checkpoint=before_finish["checkpoint"]
    )
    assert again["messages"][-1]["content"] == "Segunda resposta."
    assert len(again["messages"]) == 2

    first = next(state for state in reversed(history) if state["next"] == ["__start__"])
    fake_openai.say("Finish", model=HEAVY)
    fake_openai.say("Resposta ao texto editado.", model=TALK)
    edited = await client.runs.wait(
        thread, ASSISTANT, input=human("Olá, editado"), context=who, checkpoint=first["checkpoint"]
    )
    assert [message["content"] for message in edited["messages"]][-2:] == [
        "Olá, editado",
        "Resposta ao texto editado.",
    ]
    async with Memory.open(server.db, embeddings=None) as memory:
        live = await memory.conversation("caio", thread, limit=10)
    assert live[-1].replies[-1].text == "Resposta ao texto editado."


@pytest.mark.spec("TC-14")
async def test_rollback_of_a_running_turn(client: LangGraphClient, fake_openai: FakeOpenAI) -> None:
    thread = (await client.threads.create())["thread_id"]
    who = {"user_id": "dora"}
    fake_openai.say("Finish", "Finish", model=HEAVY)
    fake_openai.say(Reply("lenta " * 40, per_token=0.2), "Rápida.", model=TALK)
    await client.runs.create(thread, ASSISTANT, input=human("um"), context=who)
    async with asyncio.timeout(20):
        while not any(request.model == TALK and request.first_chunk_at for request in fake_openai.requests):
            await asyncio.sleep(0.02)
    values = await client.runs.wait(
        thread, ASSISTANT, input=human("dois"), context=who, multitask_strategy="rollback"
    )
    assert [message["content"] for message in values["messages"]] == ["dois", "Rápida."]


async def test_no_blocking_call_and_no_network(server: Server) -> None:
    log = server.log.read_text()
    assert "BlockingError" not in log and "Blocking call" not in log
    assert httpx.get(f"{server.url}/info", timeout=5).status_code == 200
