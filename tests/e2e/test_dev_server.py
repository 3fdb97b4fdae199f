"""The same graph under `langgraph dev`, talked to with the SDK client."""

import asyncio
from asyncio import gather
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import fields
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import httpx
import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from support.databases import new_database
from support.dev_server import dev_server
from support.dev_talk import ASSISTANT, BEGUN, SLOW, Server, Talk, answers, cut, human
from support.dialogue import HEAVY, TALK, TURNS, environment, watch
from support.fake_openai import FakeOpenAI, Reply, ToolCall
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CycleMessage, MemoryDraft, utc_now
from thoughtcycle.memory.model.namespace import item_space
from thoughtcycle.nodes.base.context import Context

LONGEST = 1_000_000


@pytest.fixture(scope="module", params=["sqlite", "mongodb"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, fake_openai_server: FakeOpenAI
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("dev")
    db = f"sqlite:///{folder}/dev.db"
    if request.param == "mongodb":
        db = new_database(request.getfixturevalue("mongodb_url"))
    settings = {"THOUGHTCYCLE_DB": db, "THOUGHTCYCLE_WEB__BODY_BYTES": str(LONGEST)}
    with dev_server(folder, environment(fake_openai_server) | settings) as url:
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


@pytest.mark.spec("TC-13")
async def test_three_graphs_are_listed_and_have_forms(client: LangGraphClient) -> None:
    listed = {one["graph_id"]: one for one in await client.assistants.search(limit=20)}
    assert set(listed) == {"thought_cycle", "formation", "garden"}
    inputs: dict[str, Any] = {}
    for name, one in listed.items():
        assert one["description"]
        schemas = await client.assistants.get_schemas(one["assistant_id"])
        inputs[name] = (schemas["input_schema"] or {})["properties"]
        context = (schemas["context_schema"] or {})["properties"]
        assert set(context) == {field.name for field in fields(Context)}
        for form in (inputs[name], context):
            assert all(field["title"] and field["description"] for field in form.values()), form
    assert {name: set(form) for name, form in inputs.items()} == {
        "thought_cycle": {"messages"},
        "formation": {"cycle_id"},
        "garden": {"dry_run"},
    }
    assert inputs["garden"]["dry_run"]["default"] is True
    assert all("default" in field for field in context.values())
    assert context["language"]["enum"] == ["auto", "pt", "en"]
    assert (context["max_steps"]["minimum"], context["max_steps"]["maximum"]) == (1, 50)
    assert "America/Sao_Paulo" in context["time_zone"]["examples"]


async def test_what_a_form_may_send(client: LangGraphClient) -> None:
    """Fields that nobody filled in are left out; without a word on it the garden only looks."""
    who = {"user_id": "rui", "time_zone": "", "max_steps": "", "language": "auto", "smart_context": None}
    looked = await client.runs.wait(None, "garden", input={"dry_run": True}, context=who)
    assert looked["counts"] == dict.fromkeys(("merge", "archive", "prioritise", "condense"), 0)
    for graph, given in (("garden", {"dry_run": "no"}), ("formation", {"cycle_id": ["x"]})):
        told = []
        with pytest.raises(AssertionError, match="InputRefused"):
            stream = client.runs.stream(None, graph, input=given, context=who, stream_mode="custom")
            async for _, data in parts(stream):
                told.append(data)
        assert next(iter(given)) in told[-1]["content"]


def test_page_and_api_stand_beside_the_servers_own_routes(server: Server) -> None:
    """Neither server's headers, failures or routes show at the other's addresses."""
    with httpx.Client(base_url=server.url, timeout=60) as client:
        for path in ("/ok", "/info", "/docs", "/openapi.json", "/metrics"):
            theirs = client.get(path)
            assert (theirs.status_code, "content-security-policy" in theirs.headers) == (200, False), path
        for path in ("/", "/memories", "/-/health", "/-/ready", "/api/memories", "/api/openapi.json"):
            ours = client.get(path)
            assert (ours.status_code, "content-security-policy" in ours.headers) == (200, True), path
        both = client.get("/openapi.json").json()["paths"]
        assert {"/threads/{thread_id}/runs/wait", "/api/memories"} <= both.keys()
        missing = f"/threads/{uuid4()}"
        assert "not found" in client.get(missing).json()["detail"]
        assert client.get("/api/memories/nothing").json()["code"] == "memory_not_listed"
        assert client.post("/api/memories", content=b"{").json().keys() == {"code", "message"}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        accept = {"accept": "application/json, text/event-stream"}
        listed = client.post("/mcp", json=asked, headers=accept).json()["result"]["tools"]
        assert {tool["name"] for tool in listed} == {"thought_cycle", "formation", "garden"}
        for path in ("/threads/search", "/api/memories"):
            assert client.post(path, content=b" " * (LONGEST + 1)).status_code == 413


async def understood(client: LangGraphClient, cycle: str, who: dict[str, str]) -> Any:
    """The state after formation; a run that meets the server's own worker ends with a conflict."""
    for _ in range(10):
        try:
            return await client.runs.wait(None, "formation", input={"cycle_id": cycle}, context=who)
        except Exception as conflict:
            if not str(conflict).startswith("Conflict"):
                raise
    raise AssertionError("conflicts only")


@pytest.mark.spec("SM-1", "HM-7")
async def test_formation_and_garden_run_through_the_sdk(server: Server, client: LangGraphClient) -> None:
    at = utc_now()
    said = CycleMessage(id="m1", role="user", text="Oi, tudo bem?", at=at)
    reply = CycleMessage(id="m2", role="assistant", text="Tudo!", at=at)
    async with Memory.open(server.db, embeddings=None) as memory:
        cycle = await memory.transcript.open_cycle("gil", "chat-of-gil", said, parent=None, channel="test")
        await memory.transcript.close_cycle("gil", cycle.id, execution="1", messages=[reply], steps=[])
        felt = MemoryDraft(content="ansioso com prazos", kind="emo", said=at - timedelta(days=90))
        await memory.save("gil", [felt])
    who = {"user_id": "gil"}
    formed = await understood(client, cycle.id, who)
    assert (formed["cycle_id"], formed["done"]) == (cycle.id, True)
    planned = await client.runs.wait(None, "garden", input={"dry_run": True}, context=who)
    left = await server.memories("gil")
    if left:  # the server's own worker may have tended the garden already
        assert planned["counts"]["archive"] == len(left) == 1
    done = await client.runs.wait(None, "garden", input={"dry_run": False}, context=who)
    assert set(done["counts"]) == {"merge", "archive", "prioritise", "condense"}
    assert await server.memories("gil") == []


@pytest.mark.spec("HM-7")
async def test_a_garden_by_cron_beside_the_workers_own(server: Server, client: LangGraphClient) -> None:
    """As docs/server.md shows it, only more often: the sixth field is seconds. Nothing is done twice."""
    async with Memory.open(server.db, embeddings=None) as memory:
        felt = MemoryDraft(content="nervoso com provas", kind="emo", said=utc_now() - timedelta(days=90))
        (saved,) = await memory.save("hugo", [felt])
    who = {"user_id": "hugo"}
    cron = await client.crons.create("garden", schedule="* * * * * *", input={"dry_run": False}, context=who)
    async with asyncio.timeout(120):
        while await server.memories("hugo"):
            await asyncio.sleep(0.2)
    threads = [(await client.threads.create())["thread_id"] for _ in range(3)]  # the server deletes its own
    again = [client.runs.wait(one, "garden", input={"dry_run": False}, context=who) for one in threads]
    assert [one["counts"]["archive"] for one in await gather(*again)] == [0, 0, 0]
    await client.crons.delete(cron["cron_id"])
    async with Memory.open(server.db, embeddings=None) as memory:
        ops = [entry.op for entry in await memory.history("hugo", saved.record.id)]
        assert [op for op in ops if op != "reembed"] == ["save", "archive"]  # saved here without a vector


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


@pytest.fixture
async def talks(
    server: Server, client: LangGraphClient, fake_openai: FakeOpenAI
) -> Callable[[str], Awaitable[Talk]]:
    """Makes chats with a model that saves the name it is told."""
    fake_openai.answer = answers

    async def begun(user: str) -> Talk:
        return Talk(server, client, user, (await client.threads.create())["thread_id"])

    return begun


@pytest.mark.spec("TC-14", "BY-1")
async def test_a_second_message_while_the_first_is_answered(
    talks: Callable[[str], Awaitable[Talk]], fake_openai: FakeOpenAI
) -> None:
    """Nothing is lost, nothing doubled, and the thread goes on, whatever the strategy."""
    second_said = asyncio.Barrier(4)

    async def go_on() -> None:
        """Lets the first reply be said to its end when every second message has come."""
        if await second_said.wait() == 0:
            fake_openai.go_on()

    async def reject(talk: Talk) -> None:
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await talk.say("dois", multitask_strategy="reject")
        assert refused.value.response.status_code == 409
        assert "already running" in refused.value.response.text
        await go_on()
        await talk.client.runs.join(talk.thread, first[talk.user])
        assert await talk.kept() == [(talk.first, "Guardei.", SLOW)]

    async def enqueue(talk: Talk) -> None:
        given = {"input": human("dois"), "context": {"user_id": talk.user}, "multitask_strategy": "enqueue"}
        run = await talk.client.runs.create(talk.thread, ASSISTANT, **given)
        await go_on()
        values = cast(dict[str, Any], await talk.client.runs.join(talk.thread, run["run_id"]))
        both = [message["content"] for message in values["messages"]]
        assert both == [talk.first, "Guardei.", SLOW, "dois", "Resposta a dois."]
        assert await talk.kept() == [(talk.first, "Guardei.", SLOW), ("dois", "Resposta a dois.")]

    async def interrupt(talk: Talk) -> None:
        said = await talk.say("dois", multitask_strategy="interrupt")
        assert said == [talk.first, "Guardei.", "dois", "Resposta a dois."]
        (begun, *replies), second = await talk.kept()
        assert (begun, cut(replies), second) == (talk.first, True, ("dois", "Resposta a dois."))
        await go_on()

    async def rollback(talk: Talk) -> None:
        assert await talk.say("dois", multitask_strategy="rollback") == ["dois", "Resposta a dois."]
        assert await talk.kept() == [("dois", "Resposta a dois.")]
        await go_on()

    strategies = (reject, enqueue, interrupt, rollback)
    made = [await talks(f"{strategy.__name__}-ana") for strategy in strategies]
    begun = await gather(*(talk.begin() for talk in made))
    first = {talk.user: run for talk, run in zip(made, begun, strict=True)}
    await gather(*(strategy(talk) for strategy, talk in zip(strategies, made, strict=True)))
    before = {talk.user: await talk.kept() for talk in made}
    after = await gather(*(talk.say("três") for talk in made))
    for talk, messages in zip(made, after, strict=True):
        assert messages[-2:] == ["três", "Resposta a três."], talk.user
        assert await talk.kept() == [*before[talk.user], ("três", "Resposta a três.")], talk.user
        assert await talk.known() == ([] if talk.user.startswith("rollback") else ["Nome: Pedro"]), talk.user


@pytest.mark.spec("TC-14", "BY-1", "TC-13")
async def test_a_run_that_is_cancelled_left_or_joined_again(
    talks: Callable[[str], Awaitable[Talk]], fake_openai: FakeOpenAI
) -> None:
    last_said = asyncio.Barrier(3)

    async def go_on() -> None:
        """Lets the reply that goes on be said to its end when the others are cut."""
        if await last_said.wait() == 0:
            fake_openai.go_on()

    async def cancelled(talk: Talk) -> None:
        run = await talk.begin()
        await talk.client.runs.cancel(talk.thread, run, wait=True)
        assert (await talk.client.runs.get(talk.thread, run))["status"] == "interrupted"
        await go_on()

    async def left(talk: Talk) -> None:
        await talk.begin(on_disconnect="cancel")
        async with asyncio.timeout(60):
            while (await talk.client.threads.get(talk.thread))["status"] == "busy":
                await asyncio.sleep(0.05)
        await go_on()

    async def joined(talk: Talk) -> None:
        pieces, run, last = [], "", None
        given = {"input": human(talk.first), "context": {"user_id": talk.user}, "stream_resumable": True}
        stream = talk.client.runs.stream(talk.thread, ASSISTANT, **given, stream_mode="messages-tuple")
        async for part in stream:
            run = part.data["run_id"] if part.event == "metadata" else run
            if part.event == "messages":
                pieces.append(part.data[0]["content"])
                last = part.id
                if BEGUN in pieces[-1]:
                    break
        await cast(AsyncGenerator[Any, None], stream).aclose()
        await go_on()
        rest = talk.client.runs.join_stream(
            talk.thread, run, last_event_id=last, stream_mode="messages-tuple"
        )
        async for part in rest:  # what came while it replayed comes twice; ids are times, and may be the same
            if part.event == "messages" and part.data[0]["content"] not in pieces:
                pieces.append(part.data[0]["content"])
        assert "".join(pieces) == "Guardei." + SLOW
        assert await talk.kept() == [(talk.first, "Guardei.", SLOW)]

    made = [await talks(f"{how}-bia") for how in ("cancelled", "left", "joined")]
    await gather(*(act(talk) for act, talk in zip((cancelled, left, joined), made, strict=True)))
    for talk in made:
        assert (await talk.say("dois"))[-2:] == ["dois", "Resposta a dois."]
        (begun, *replies), second = await talk.kept()
        assert (begun, second) == (talk.first, ("dois", "Resposta a dois."))
        assert replies == ["Guardei.", SLOW] if talk.user.startswith("joined") else cut(replies), talk.user
        assert await talk.known() == ["Nome: Pedro"], talk.user


async def test_no_blocking_call_and_no_network(server: Server) -> None:
    log = server.log.read_text()
    assert "BlockingError" not in log and "Blocking call" not in log
    assert httpx.get(f"{server.url}/info", timeout=60).status_code == 200


@pytest.fixture(scope="module")
def tools_server(
    tmp_path_factory: pytest.TempPathFactory, fake_openai_server: FakeOpenAI
) -> Iterator[Server]:
    """A server with one model for all roles, which decides with tools."""
    folder = tmp_path_factory.mktemp("dev_tools")
    db = f"sqlite:///{folder}/dev.db"
    roles = {f"THOUGHTCYCLE_{role}__MODEL": TALK for role in ("REASONING_HEAVY", "REASONING")}
    settings = {**roles, "THOUGHTCYCLE_DB": db, "THOUGHTCYCLE_LIMITS__EXPLAIN_ACTIONS": "auto"}
    with dev_server(folder, environment(fake_openai_server) | settings) as url:
        yield Server(url, db, folder / "dev.log")


@pytest.mark.spec("TC-4", "TC-13")
async def test_a_reply_with_tools_is_one_message(tools_server: Server, fake_openai: FakeOpenAI) -> None:
    fake_openai.strict = True
    fact = {"memories": [{"content": "Nome: Pedro", "bindings": ["nome"]}]}
    fake_openai.say(Reply("Um momento.", calls=(ToolCall("MemorySave", fact),)), "Anotei, Pedro.", model=TALK)
    async with get_client(url=tools_server.url) as client:
        thread = (await client.threads.create())["thread_id"]
        modes: Any = ["messages-tuple", "values"]
        given: Any = {
            "input": human("Meu nome é Pedro."),
            "context": {"user_id": "ana"},
            "stream_mode": modes,
        }
        said: dict[str, str] = {}
        values: dict[str, Any] = {}
        async for mode, data in parts(client.runs.stream(thread, ASSISTANT, **given)):
            if mode == "values":
                values = data
            elif mode == "messages":
                chunk, metadata = data
                assert not chunk.get("tool_call_chunks") and metadata["chat_history"] is False
                said[chunk["id"]] = said.get(chunk["id"], "") + chunk["content"]
        assert list(said.values()) == ["Um momento.\n\nAnotei, Pedro."]
        last = values["messages"][-1]
        assert (last["id"], last["content"]) == (*said, *said.values())
        assert [step["action"] for step in values["steps"]] == ["MemorySave", "Finish"]
        remote = RemoteGraph(ASSISTANT, client=client)
        fake_openai.say("Olá, Pedro!", model=TALK)
        answered = await remote.ainvoke(human("Oi!"), context={"user_id": "ana"})
        assert answered["messages"][-1]["content"] == "Olá, Pedro!"
    assert {record.text for record in await tools_server.memories("ana")} == {"Nome: Pedro"}
