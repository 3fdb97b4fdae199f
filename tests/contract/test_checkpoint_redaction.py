"""Words of deleted memories in a thread's state: masked when read, gone when erased; on both savers."""

import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.conformance.test_utils import (
    generate_checkpoint,
    generate_config,
    generate_metadata,
)
from langgraph.types import Send

from support.databases import database_url as database_url  # the fixture
from support.memories import START, record
from support.talking import Saver, say, talk, thread, words
from thoughtcycle.checkpoints.erasure import threads_of
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.memory.model.records import Source
from thoughtcycle.memory.redaction.fingerprint import trace
from thoughtcycle.memory.redaction.redactor import NOTHING, Mask
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.nodes.base.redaction import redacted_state

TASKS = "__pregel_tasks"
GONE = record(content="Nome: Pedro", source=Source(words="Meu nome é Pedro"))
MASK = Mask((trace(GONE, until=START),))


@pytest.fixture
async def saver(database_url: str) -> AsyncIterator[Saver]:
    async with open_checkpointer(database_url) as opened:
        yield opened


def state(at: str, newest: str, **more: Any) -> dict[str, Any]:
    messages = [HumanMessage("Sou o Pedro", id="1"), AIMessage("Oi, Pedro! Tudo bem?", id="2")]
    return {
        "user_id": "pedro",
        "at": at,
        "messages": [*messages, HumanMessage(newest, id="3")],
        "recalled": [
            {"id": "m1", "content": "Nome: Pedro", "revision": 1},
            {"id": "m2", "content": "Irmão: Pedro", "revision": 2},
        ],
        "briefing": {"text": "[MEMORY]\n- Nome: Pedro\n- Mora em Natal", "shown": ["m1"]},
        **more,
    }


BEFORE, AFTER = (START - timedelta(hours=1)).isoformat(), (START + timedelta(hours=1)).isoformat()


@pytest.mark.spec("BY-9")
async def test_a_state_is_read_without_hidden_words(saver: Saver) -> None:
    async def masks(user: str) -> Mask:
        return MASK if user == "pedro" else NOTHING

    saver.masks = masks
    for user, at, newest in (("pedro", BEFORE, HIDDEN), ("pedro", AFTER, "Pedro"), ("bia", BEFORE, "Pedro")):
        checkpoint = generate_checkpoint(channel_values=state(at, "Pedro") | {"user_id": user})
        config = await saver.aput(generate_config(f"{user}{at}"), checkpoint, generate_metadata(), {})
        await saver.aput_writes(
            config, [("messages", [HumanMessage("É o Pedro")]), ("user_id", "pedro")], "t"
        )
        found = await saver.aget_tuple(config)
        assert found is not None
        (listed,) = [one async for one in saver.alist(config)]
        assert listed == found
        values = found.checkpoint["channel_values"]
        texts = [message.text for message in values["messages"]]
        assert texts[2] == newest
        assert values["user_id"] == user
        if user == "pedro":
            assert texts[:2] == [f"Sou o {HIDDEN}", f"{HIDDEN} Tudo bem?"]
        written = {channel: value for _, channel, value in found.pending_writes or ()}
        assert written["user_id"] == "pedro"
        assert ("Pedro" in written["messages"][0].text) is (newest == "Pedro")
    assert [one["content"] for one in values["recalled"]] == ["Nome: Pedro", "Irmão: Pedro"]


@pytest.mark.spec("BY-9")
async def test_erasing_rewrites_checkpoints_and_writes(saver: Saver, database_url: str) -> None:
    graph, config, other = talk(saver), thread(), thread()
    for place in (config, other):
        await say(graph, place, "Meu nome é Pedro", "E o tempo?")
    assert await saver.aredact(config["configurable"]["thread_id"], MASK) > 0
    assert await saver.aredact(config["configurable"]["thread_id"], MASK) == 0
    assert await words(graph, config) == [HIDDEN, HIDDEN, "E o tempo?", "to E o tempo?"]
    assert "Pedro" in (await words(graph, other))[0]
    kept = [repr(found) async for found in saver.alist(config)]
    assert len(kept) > 4
    assert not [text for text in kept if "Pedro" in text]
    await say(graph, config, "e agora?")
    assert (await words(graph, config))[-1] == "to e agora?"
    await saver.aredact(other["configurable"]["thread_id"], MASK)
    if database_url.startswith("sqlite"):
        path = Path(database_url.removeprefix("sqlite:///"))
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.close()
        assert b"Pedro" not in path.read_bytes()


@pytest.mark.spec("BY-9")
async def test_what_a_step_sends_to_the_next_one_is_redacted(saver: Saver) -> None:
    call = {
        "name": "search",
        "args": {"kind": "Pedro", "query": "Nome: Pedro"},
        "id": "1",
        "type": "tool_call",
    }
    sent = Send("tools", [call], timeout=60)
    config = await saver.aput(
        generate_config("t"), generate_checkpoint(channel_values={TASKS: [sent]}), generate_metadata(), {}
    )
    await saver.aput_writes(config, [(TASKS, Send("tools", {"tool_call": call, "state": {}}))], "t")
    assert await saver.aredact("t", MASK) == 2
    found = await saver.aget_tuple(config)
    assert found is not None and found.pending_writes is not None
    hidden = {**call, "args": {"kind": HIDDEN, "query": HIDDEN}}
    assert found.checkpoint["channel_values"][TASKS] == [Send("tools", [hidden], timeout=60)]
    assert found.pending_writes[0][2] == Send("tools", {"tool_call": hidden, "state": {}})


@pytest.mark.spec("BY-9")
def test_what_a_turn_saves_lacks_what_it_erased() -> None:
    left = redacted_state(state(BEFORE, "Apague meu nome, Pedro", window=[], steps=[], parent="Pedro"), MASK)
    assert [message.id for message in left["messages"]] == ["1", "2", "3"]
    assert "Pedro" not in repr(left["messages"])
    assert [one["content"] for one in left["recalled"]] == [HIDDEN, "Irmão: Pedro"]
    assert left["briefing"]["text"] == f"[MEMORY]\n- {HIDDEN}\n- Mora em Natal"
    assert left.keys() == {"messages", "recalled", "briefing"}
    assert redacted_state(state(BEFORE, "x"), NOTHING) == {"messages": []}


def test_a_chat_belongs_to_its_thread_or_to_a_graph_in_it() -> None:
    assert threads_of("t") == ["t"]
    assert threads_of("a/b/c") == ["a", "a/b", "a/b/c"]
