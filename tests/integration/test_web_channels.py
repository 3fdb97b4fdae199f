"""The door of messaging gateways: signatures, linking, one memory on every channel, no message twice (LM-13)."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from support.callers import KEYS, auth
from support.fake_openai import FakeOpenAI
from support.graphs import models
from support.web import RULES, said, serving, settings
from thoughtcycle.errors import InputRefused, StorageUnavailable, TurnKept
from thoughtcycle.memory.memory import Memory
from thoughtcycle.runtime.settings import load_settings
from thoughtcycle.web.app import create_app
from thoughtcycle.web.webhooks import channel_chat_id, parse_link_code, sign, verified

SECRET = "the secret that the gateway shares"
OTHER = "the secret of quite another gateway"
PHONE = "+55 11 98765-4321"
ANA = {"x-api-key": KEYS["ana"]}
AT = "/channels/whatsapp/messages"


def signed(body: bytes, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    stamp = str(int(time.time() if at is None else at))
    signature = sign(secret.encode(), stamp, body)
    return {"content-type": "application/json", "x-timestamp": stamp, "x-signature": signature}


def message(text: str, id: str = "m1", sender: str = PHONE) -> bytes:
    return json.dumps({"sender": sender, "message": text, "id": id}).encode()


async def send(client: httpx.AsyncClient, text: str, id: str, sender: str = PHONE) -> dict[str, Any]:
    body = message(text, id, sender)
    answer = await client.post(AT, content=body, headers=signed(body))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def app_in(folder: Path, minds: Any = RULES, **more: Any) -> FastAPI:
    channels = {"whatsapp": {"secret": SECRET}, "telegram": {"secret": OTHER}}
    generous = {"attempts_per_minute": 1000}
    return create_app(settings(folder, auth=auth(), channels=channels, web=generous | more), minds)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(app_in(tmp_path)) as client:
        yield client


async def linked(client: httpx.AsyncClient, sender: str = PHONE, user: str = "ana") -> None:
    made = (await client.post("/api/channels/code", headers={"x-api-key": KEYS[user]})).json()
    assert (await send(client, f"link {made['code']}", "link", sender))["linked"] is True


BODY = message("Oi")
NOW = int(time.time())


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (signed(BODY), True),
        (signed(BODY, at=NOW - 299), True),
        (signed(BODY, at=NOW - 301), False),
        (signed(BODY, at=NOW + 301), False),
        (signed(BODY, OTHER), False),
        (signed(BODY + b" "), False),
        (signed(BODY) | {"x-timestamp": str(NOW - 1)}, False),
        (signed(BODY) | {"x-timestamp": "soon"}, False),
        (signed(BODY) | {"x-timestamp": "9" * 400}, False),
        (signed(BODY) | {"x-signature": ""}, False),
        (signed(BODY) | {"x-signature": "é"}, False),
    ],
)
def test_what_is_signed(headers: dict[str, str], expected: bool) -> None:
    stamp, signature = headers["x-timestamp"], headers["x-signature"]
    assert verified(SECRET.encode(), stamp, signature, BODY, NOW) is expected
    assert verified(None, stamp, signature, BODY, NOW) is False


@pytest.mark.spec("LM-13", "BY-5")
async def test_who_did_not_sign_is_refused(client: httpx.AsyncClient) -> None:
    await linked(client)
    body = message("Meu nome é Ana.")
    strangers: list[tuple[str, dict[str, str]]] = [
        (AT, {}),
        (AT, ANA),
        (AT, signed(body, OTHER)),
        (AT, signed(body, at=time.time() - 400)),
        (AT, signed(body) | {"x-signature": "sha256="}),
        ("/channels/telegram/messages", signed(body)),
        ("/channels/signal/messages", signed(body)),
        ("/channels/..%2F..%2Fetc/messages", signed(body)),
    ]
    for path, headers in strangers:
        answer = await client.post(path, content=body, headers=headers)
        assert answer.status_code in (401, 404), (path, answer.text)
        assert answer.json()["code"] in ("channel_signature", "http.404")
    assert (await client.get("/api/memories", headers=ANA)).json() == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        (b"[]", 422),
        (json.dumps({"sender": PHONE, "message": "x"}).encode(), 422),
        (message("", "m"), 422),
        (message("x", "m", "a\x1fb"), 422),
        (message("x" * 300_000), 413),
    ],
)
async def test_what_is_malformed_is_refused(client: httpx.AsyncClient, body: bytes, status: int) -> None:
    answer = await client.post(AT, content=body, headers=signed(body))
    assert answer.status_code == status, answer.text
    assert status == 413 or set(answer.json()) == {"code", "message"}


@pytest.mark.spec("LM-13")
async def test_a_linked_sender_shares_the_users_memory(client: httpx.AsyncClient) -> None:
    stranger = await send(client, "Meu nome é Ana.", "s1")
    assert stranger["linked"] is False and "ligar" in stranger["reply"]
    assert (await send(client, "My name is Ana.", "s2"))["reply"].endswith("link CODE.")
    await linked(client)
    assert "Ana" in (await send(client, "Meu nome é Ana.", "m1"))["reply"]
    talk = await client.post("/api/chats/web/messages", json={"message": "Qual é o meu nome?"}, headers=ANA)
    assert "Ana" in " ".join(said(talk))
    other = await send(client, "Qual é o meu nome?", "m1", "+1 555")
    assert other["linked"] is False and "Ana" not in other["reply"]
    (link,) = (await client.get("/api/channels", headers=ANA)).json()
    assert (link["channel"], link["sender"]) == ("whatsapp", PHONE)
    mine = {"channel": "whatsapp", "sender": PHONE}
    bob = await client.request("DELETE", "/api/channels", params=mine, headers={"x-api-key": KEYS["bob"]})
    assert bob.status_code == 404
    assert (await client.request("DELETE", "/api/channels", params=mine, headers=ANA)).json() == {
        "unlinked": True
    }
    assert (await send(client, "Qual é o meu nome?", "m2"))["linked"] is False


@pytest.mark.spec("LM-13")
async def test_nothing_of_a_stranger_is_kept(tmp_path: Path) -> None:
    async with serving(app_in(tmp_path)) as client:
        await send(client, "Meu nome é Zacarias.", "s1", "+99 123456")
        await send(client, "link 0000-0000", "s2", "+99 123456")
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"Zacarias" not in kept and b"+99 123456" not in kept


@pytest.mark.spec("LM-13")
async def test_wrong_codes_and_a_second_user(client: httpx.AsyncClient) -> None:
    replies = [(await send(client, "ligar 0000-0000", f"w{n}"))["reply"] for n in range(6)]
    assert "não liga" in replies[4] and "Tente de novo em" in replies[5]
    await linked(client, "+1 555")
    await send(client, "Meu nome é Ana.", "m1", "+1 555")
    await linked(client, "+1 555", user="bob")
    assert "Ana" not in (await send(client, "Qual é o meu nome?", "m2", "+1 555"))["reply"]
    assert (await client.get("/api/channels", headers=ANA)).json() == []


@pytest.mark.spec("LM-13")
async def test_a_message_that_comes_again_is_answered_with_the_same_reply(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    async with serving(app) as client:
        await linked(client)
        at_once = await asyncio.gather(*(send(client, "Meu nome é Ana.", "m1") for _ in range(4)))
        again = await send(client, "Meu nome é Ana.", "m1")
        assert {answer["reply"] for answer in at_once} == {again["reply"]} and "Ana" in again["reply"]
        memory: Memory = app.state.server.resources.services.memory
        (chat,) = await memory.chats("ana")
        assert chat.cycles == 1


@pytest.mark.spec("CM-8")
async def test_a_message_kept_through_an_outage_is_told_so(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    async with serving(app) as client:
        await linked(client)

        async def away(*_: object) -> None:
            raise StorageUnavailable("memory.db")

        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(app.state.server.resources.checkpointer, "aput", away)
            told = await send(client, "Meu nome é Ana", "m1")
    assert told == {"linked": True, "reply": TurnKept().text("pt")}


@pytest.mark.spec("BY-5")
async def test_nobody_else_can_tell_the_id_of_a_channels_chat(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    async with serving(app) as client:
        await linked(client)
        await send(client, "Meu nome é Ana.", "m1")
        memory: Memory = app.state.server.resources.services.memory
        (chat,) = await memory.chats("ana")
    assert chat.id == channel_chat_id(SecretStr(SECRET), "ana", "whatsapp", PHONE)
    assert chat.id != channel_chat_id(SecretStr(OTHER), "ana", "whatsapp", PHONE)


@pytest.mark.spec("LM-10", "LM-13")
@pytest.mark.parametrize("command", ["/lembrar nome", "/remember name"])
async def test_memory_is_searched_without_a_chat_model(
    tmp_path: Path, fake_openai: FakeOpenAI, command: str
) -> None:
    async with serving(app_in(tmp_path, models(fake_openai))) as client:
        await linked(client)
        saved = {"content": "Nome: Ana / name", "kind": "bio"}
        assert (await client.post("/api/memories", json=saved, headers=ANA)).status_code == 201
        assert "Nome: Ana" in (await send(client, command, "m1"))["reply"]
    assert {request.model for request in fake_openai.requests} <= {"embed"}


async def test_a_sender_is_limited_like_a_user(tmp_path: Path) -> None:
    async with serving(app_in(tmp_path, requests_per_minute=1, burst=2)) as client:
        body = message("Oi")
        answers = [await client.post(AT, content=body, headers=signed(body)) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 429, 429]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ligar 7K3M-Q01D", "7K3MQ01D"),
        (" /link 7k3m q0ld ", "7K3MQ01D"),
        ("LIGAR 7k3mq01d", "7K3MQ01D"),
        ("ligar para a mãe", None),
        ("link to the page", None),
        ("ligar", None),
        ("ligar 7K3M-Q01D agora", None),
        ("por favor ligar 7K3M-Q01D", None),
    ],
)
def test_what_is_a_code(text: str, code: str | None) -> None:
    assert parse_link_code(text) == code


def test_secrets_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THOUGHTCYCLE_CHANNELS__WHATSAPP__SECRET", SECRET)
    monkeypatch.setenv("THOUGHTCYCLE_CHANNELS__MY_GATE__SECRET", OTHER)
    read = load_settings()
    assert {name: one.secret.get_secret_value() for name, one in read.channels.items()} == {
        "whatsapp": SECRET,
        "my_gate": OTHER,
    }
    assert SECRET not in repr(read)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("CHANNELS__WHATSAPP__SECRET", "too short", "bad_setting"),
        ("CHANNELS__WHATSAPP__SEKRET", SECRET, "unknown_setting"),
        ("CHANNELS__WHATSAPP", SECRET, "unknown_setting"),
        ("CHANNELS", "{whatsapp", "bad_setting"),
    ],
)
def test_a_bad_setting_is_one_line(monkeypatch: pytest.MonkeyPatch, name: str, value: str, code: str) -> None:
    monkeypatch.setenv(f"THOUGHTCYCLE_{name}", value)
    with pytest.raises(InputRefused) as refused:
        load_settings()
    assert refused.value.code == code and value not in refused.value.text()
