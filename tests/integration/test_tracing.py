"""What LangSmith gets, seen by a stand-in for its server: named and tagged runs without secrets, or nothing."""

import base64
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import SecretStr

from support.attached import png
from support.fake_langsmith import fake_langsmith
from support.graphs import lab
from thoughtcycle.memory.text.secrets import MARK
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.tracing import PSEUDONYMS, tag_of
from thoughtcycle.runtime import tracing
from thoughtcycle.runtime.turn_runner import stream

pytestmark = pytest.mark.spec("BY-10")

USER = "ana@example.com"
KEY = "lsv2_pt_0123456789"
PICTURE = base64.b64encode(png() + bytes(300)).decode()


async def talk(folder: Path, **context: Any) -> None:
    """A turn with a secret and a file, on a thread whose configuration names the user."""
    async with lab(folder) as cycle:
        blocks: list[Any] = [
            {"type": "text", "text": "Meu nome é Pedro. Guarde este contrato, a senha é girassol77!x"},
            {"type": "image", "base64": PICTURE, "mime_type": "image/png"},
        ]
        config: Any = {"configurable": {"thread_id": "t", "user_id": USER}}
        given = Context(user_id=USER, language="pt", **context)
        async for _ in stream(cycle.graph, HumanMessage(blocks), config, given, []):
            pass
        await cycle.understand()


def flush() -> None:
    if tracing._client is not None:
        tracing._client.flush()


async def test_runs_are_named_and_tagged_and_hold_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_langsmith(monkeypatch, LANGSMITH_TRACING="true", LANGSMITH_API_KEY=KEY) as server:
        assert tracing.set_up(SecretStr("a key of ours")) is None
        client = tracing._client
        assert tracing.set_up() is None and tracing._client is client
        await talk(tmp_path)
        flush()
        runs, tag = server.runs(), tag_of(USER)
        assert tag in runs["thought_cycle"]
        assert {"step:command", "step:router", tag} <= runs["command"] | runs["router"]
        assert {"action:MemorySave", tag} <= runs["MemorySave"]
        assert {"step:sift", tag} <= runs["sift"] and "actions/finish#tell" in runs
        sent = server.bodies
        assert "Meu nome é Pedro".encode() in sent and MARK.encode() in sent
        for hidden in (USER, "girassol77", PICTURE[:100], KEY, "a key of ours"):
            assert hidden.encode() not in sent, hidden


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"LANGSMITH_TRACING": "true"}, True),
        ({"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": " "}, True),
        ({"LANGSMITH_API_KEY": KEY}, False),
        ({}, False),
    ],
    ids=["no key", "blank key", "not asked for", "nothing"],
)
async def test_nothing_leaves_without_a_key_or_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: bool
) -> None:
    with fake_langsmith(monkeypatch, **variables) as server:
        notice = tracing.set_up()
        assert (notice is not None) is told
        if notice is not None:
            assert "LANGSMITH_API_KEY" in notice.text("pt") and "\n" not in notice.text("en")
        await talk(tmp_path)
        flush()
        assert server.requests == []


async def test_an_incognito_turn_is_not_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_langsmith(monkeypatch, LANGSMITH_TRACING="true", LANGSMITH_API_KEY=KEY) as server:
        tracing.set_up()
        await talk(tmp_path, incognito=True)
        flush()
        assert server.runs() == {}


def test_what_is_concealed() -> None:
    given = {
        "senha": "girassol77",
        "note": ["my password is hunter2!x", {"user_id": USER, "n": 1}],
        "langgraph_auth_user_id": USER,
        "url": "https://example.com/a b",
        "image_url": {"url": f"data:image/png;base64,{PICTURE}"},
        "user_id": "",
        "key": "note:contrato senha girassol77",
        "other": "hunter2!x!",
        "phone": "CPF 529.982.247-25, telefone (11) 91234-5678, SSN 412-68-9037",
        "card": 4111111111111111,
        "usage": {"input_tokens": 12345678, "4111 1111 1111 1111": True},
    }
    assert tracing.concealed(given) == {
        "senha": MARK,
        "note": [f"my password is {MARK}", {"user_id": PSEUDONYMS.of(USER), "n": 1}],
        "url": "https://example.com/a b",
        "image_url": {"url": MARK},
        "user_id": "",
        "key": f"note:contrato senha {MARK}",
        "other": f"{MARK}!",
        "phone": f"CPF {MARK}, telefone {MARK}, SSN {MARK}",
        "card": MARK,
        "usage": {"input_tokens": 12345678, MARK: True},
    }
    assert tracing.concealed({"later": "note:senha GIRASSOL77"}) == {"later": f"note:senha {MARK}"}


def test_a_pseudonym_needs_the_key() -> None:
    before = PSEUDONYMS.of(USER)
    PSEUDONYMS.use("one")
    one = PSEUDONYMS.of(USER)
    PSEUDONYMS.use("two")
    assert len({before, one, PSEUDONYMS.of(USER)}) == 3
    PSEUDONYMS.use("one")
    assert PSEUDONYMS.of(USER) == one and USER not in one
