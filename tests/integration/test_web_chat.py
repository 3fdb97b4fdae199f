"""Talking through the web app: streaming, stop, another reply, an edited message, many at once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from support.fake_openai import FakeOpenAI, Reply
from support.graphs import models
from support.web import events, said, serving, settings, web
from thoughtcycle.errors import InputRefused
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.envelope import Wire, wire
from thoughtcycle.web.app import create_app

TALK = "/api/chats/c/messages"


@pytest.mark.spec("TC-13", "TC-1")
async def test_a_reply_comes_as_events_and_is_kept(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        answer = await client.post(TALK, json={"message": "Meu nome é Pedro"})
        assert answer.headers["content-type"].startswith("text/event-stream")
        parts = events(answer)
        assert parts[-1] == ("end", {})
        modals = {data.get("modal") for name, data in parts if name == "message"}
        assert {"text-for-replace", "text"} <= modals
        assert any(data.get("delta") for _, data in parts)
        assert "Guardei: Nome: Pedro." in said(answer)
        again = await client.post("/api/chats/other/messages", json={"message": "Qual é o meu nome?"})
        assert "Pedro" in " ".join(said(again))


async def test_another_reply_and_an_edited_message(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        assert (await client.post("/api/chats/c/regenerate", json={})).text.count("nothing_to_answer") == 1
        await client.post(TALK, json={"message": "Olá", "id": "one"})
        await client.post(TALK, json={"message": "Moro em Recife", "id": "two"})
        assert "Guardei: Mora em Recife." in said(await client.post("/api/chats/c/regenerate", json={}))
        edited = {"message": "Moro em Olinda", "replaces": "two"}
        assert "Guardei: Mora em Olinda." in said(await client.post("/api/chats/c/edit", json=edited))
        where = said(await client.post(TALK, json={"message": "Onde eu moro?"}))
        assert "Olinda" in " ".join(where) and "Recife" not in " ".join(where)
        (left,) = (await client.get("/api/memories", params={"status": "hidden"})).json()
        assert f"{left['id']}/undo" not in (await client.get(f"/memories/{left['id']}")).text
        back = await client.post(f"/memories/{left['id']}/undo", headers={"origin": "http://localhost"})
        assert "editada" in back.text or "edited" in back.text
        gone = await client.post("/api/chats/c/edit", json={"message": "x", "replaces": "never said"})
        assert [data["code"] for name, data in events(gone) if name == "failure"] == ["edit_too_old"]


async def test_stop_keeps_what_was_said(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    app = create_app(settings(tmp_path), models(fake_openai))
    heard: list[bytes] = []

    async def overheard(scope: Scope, receive: Receive, send: Send) -> None:
        async def tell(message: Message) -> None:
            heard.append(message.get("body", b""))
            await send(message)

        await app(scope, receive, tell)

    talking = httpx.AsyncClient(transport=httpx.ASGITransport(app=overheard), base_url="http://localhost")
    async with serving(app) as client, talking:
        fake_openai.say("Finish", model="heavy")
        fake_openai.say(Reply("um dois três quatro cinco", hang_after=2), model="talk")
        turn = asyncio.create_task(talking.post(TALK, json={"message": "Conte até cinco"}))
        running = app.state.server.turns
        async with asyncio.timeout(60):
            while b"dois" not in b"".join(heard):
                await asyncio.sleep(0.02)
            assert await running.stop("eve", "c") is False
            assert 'hx-get="/chats/c/coming?since="' in (await client.get("/chats/c/coming")).text
            page = (await client.get("/chats/c")).text  # loaded anew, it knows what to listen to
            assert '"text": "Conte at' in page and "/chats/c/coming" not in page
            while not (await client.post("/api/chats/c/stop")).json()["stopped"]:
                await asyncio.sleep(0.02)
            answer = await turn
        assert events(answer)[-1][0] == "end"
        came = (await client.get("/chats/c/coming")).text
        assert "Conte até cinco" in came and "um dois" in came and "coming?" not in came
        kept = await app.state.server.resources.services.memory.conversation("ana", "c")
        (reply,) = kept[-1].variants
        assert reply.cut and "dois" in reply.messages[-1].text


@pytest.mark.spec("BY-5")
async def test_looking_for_a_reply_takes_no_chat(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    async with serving(app) as client:
        assert (await client.get("/chats/c/coming")).status_code == 200
        await app.state.server.resources.services.memory.transcript.check_chat("eve", "c")


async def test_a_client_that_leaves_loses_nothing(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    async with serving(app) as client:
        turn = asyncio.create_task(client.post(TALK, json={"message": "Meu nome é Pedro"}))
        memory = app.state.server.resources.services.memory
        async with asyncio.timeout(60):
            while not await memory.chats("ana"):
                await asyncio.sleep(0.01)
            turn.cancel()
            while not await memory.list("ana"):
                await asyncio.sleep(0.01)


async def test_many_messages_at_once_are_answered_in_turn_or_refused(tmp_path: Path) -> None:
    async with web(tmp_path, web={"waiting": 5}) as client:
        talks = [client.post(TALK, json={"message": f"Olá {n}", "id": f"m{n}"}) for n in range(20)]
        answers = await asyncio.gather(*talks)
        busy = [answer for answer in answers if "chat_busy" in answer.text]
        assert 10 <= len(busy) <= 15
        assert all(said(answer) for answer in answers if answer not in busy)


@pytest.mark.spec("BY-5")
async def test_another_users_chat_is_not_there(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        await client.post(TALK, json={"message": "Meu nome é Pedro"})
    async with web(tmp_path, user="eve", headers={"accept-language": "pt-BR"}) as client:
        for path in ("messages", "regenerate", "edit", "stop"):
            answer = await client.post(f"/api/chats/c/{path}", json={"message": "Oi", "replaces": "x"})
            assert answer.status_code == 404 and "Pedro" not in answer.text
            assert set(answer.json()) == {"code", "message"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"message": ""}, 422),
        ({"message": 3}, 422),
        ({"message": "oi", "language": "fr"}, 422),
        ({"message": "oi", "time_zone": "Mars/Base"}, 422),
        ({"message": "a" * 20_000}, 413),
    ],
)
async def test_bad_bodies_get_one_line(tmp_path: Path, body: dict[str, object], status: int) -> None:
    async with web(tmp_path, web={"body_bytes": 10_000}) as client:
        answer = await client.post(TALK, json=body)
        assert answer.status_code == status, answer.text
        assert answer.text.count("\n") == 0


async def test_an_incognito_chat_leaves_nothing(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        for text in ("Meu nome é Pedro", "Moro em Recife"):
            assert said(await client.post(TALK, json={"message": text, "incognito": True}))
        assert not said(await client.post("/api/chats/c/regenerate", json={}))
    async with web(tmp_path) as client:
        assert "Pedro" not in (await client.post(TALK, json={"message": "Qual é o meu nome?"})).text


@pytest.mark.spec("BY-9", "BY-10")
async def test_what_is_hidden_or_erased_leaves_the_state_of_an_incognito_chat(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        await client.post("/api/memories", json={"content": "Odeia coentro profundamente", "kind": "pref"})
        asked = {"message": "O que eu acho de coentro?", "incognito": True}
        assert "profundamente" in " ".join(said(await client.post(TALK, json=asked)))
        ids = [one["id"] for one in (await client.get("/api/memories")).json()]

        async def shown() -> bool:
            panel = await client.get("/chats/c/turn", params={"incognito": True})
            return "profundamente" in panel.text

        assert await shown()
        await client.post("/api/memories/changes/hide", json={"ids": ids})
        assert not await shown()
        await client.post("/api/memories/undo")
        assert await shown()
        await client.post("/api/memories/erase", json={"ids": ids, "confirm": True})
        assert not await shown()


@pytest.mark.spec("BY-4", "BY-9")
@pytest.mark.parametrize("ending", ["api delete", "page delete", "forget", "stop of the server"])
async def test_with_a_chat_end_the_turns_that_run_and_wait_in_it(
    tmp_path: Path, fake_openai: FakeOpenAI, ending: str
) -> None:
    app = create_app(settings(tmp_path), models(fake_openai))
    async with serving(app) as client:
        turns = app.state.server.turns
        acts = {
            "api delete": lambda: client.delete("/api/conversations/c"),
            "page delete": lambda: client.post("/chats/c/delete"),
            "forget": lambda: client.post("/api/forget", json={"confirm": "ana"}),
            "stop of the server": turns.aclose,
        }
        fake_openai.say("Finish", model="heavy")
        fake_openai.say(Reply("um dois três", hang_after=2), model="talk")
        spoken = [asyncio.create_task(client.post(TALK, json={"message": f"Girassol {n}"})) for n in range(3)]
        async with asyncio.timeout(60):
            while turns.waiting < 2 or not [one for one in fake_openai.requests if one.model == "talk"]:
                await asyncio.sleep(0.02)
            await acts[ending]()
            answers = await asyncio.gather(*spoken)
        assert sum("chat_over" in answer.text for answer in answers) == 2
        assert (turns.running, turns.waiting, turns._queues) == (0, 0, {})
        kept = (await client.get("/api/export")).text
        assert ("Girassol" in kept) is (ending == "stop of the server")
        if ending == "stop of the server":
            assert "chat_over" in (await client.post(TALK, json={"message": "Oi"})).text


@pytest.mark.parametrize("soon", [True, False], ids=["while it waits", "just when it is its turn"])
async def test_what_waits_is_answered_though_who_said_it_left(
    tmp_path: Path, fake_openai: FakeOpenAI, soon: bool
) -> None:
    app = create_app(settings(tmp_path), models(fake_openai))
    async with serving(app):
        turns, memory = app.state.server.turns, app.state.server.resources.services.memory
        fake_openai.say("Finish", "Finish", model="heavy")
        fake_openai.say(Reply("um dois três", hang_after=2), model="talk")
        fake_openai.say("Bom dia", model="talk")
        ana = Context(user_id="ana", channel="web")
        first, second = [asyncio.create_task(anext(turns.say(ana, "c", "Oi", id=id))) for id in "12"]
        async with asyncio.timeout(60):
            await first
            while not [one for one in fake_openai.requests if one.model == "talk"]:
                await asyncio.sleep(0.01)
            (line,) = turns._queues.values()
            if soon:
                second.cancel()
            else:
                line.running.task.add_done_callback(lambda _: second.cancel())
            assert await asyncio.gather(turns.stop("ana", "c"), turns.stop("ana", "c")) == [True, True]
            while turns._queues:
                await asyncio.sleep(0.01)
        await asyncio.wait((second,))
        assert second.cancelled()
        (_, one), (_, two) = [(cycle, cycle.variants[-1]) for cycle in await memory.conversation("ana", "c")]
        assert one.cut and two.messages[-1].text == "Bom dia"


@pytest.mark.spec("BY-1")
async def test_a_message_sent_again_is_the_same_message(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    app = create_app(settings(tmp_path), models(fake_openai))
    async with serving(app) as client:
        turns = app.state.server.turns
        fake_openai.say("Finish", "Finish", model="heavy")
        fake_openai.say(Reply("um dois três", hang_after=2), model="talk")
        fake_openai.say("Bom dia", model="talk")
        first = asyncio.create_task(client.post(TALK, json={"message": "Conta", "id": "1"}))
        async with asyncio.timeout(60):
            while not [one for one in fake_openai.requests if one.model == "talk"]:
                await asyncio.sleep(0.01)
            left = asyncio.create_task(client.post(TALK, json={"message": "Oi", "id": "2"}))
            again = asyncio.create_task(client.post(TALK, json={"message": "Conta", "id": "1"}))
            while not turns.waiting:
                await asyncio.sleep(0.01)
            left.cancel()
            await asyncio.wait((left,))
            waited = asyncio.create_task(client.post(TALK, json={"message": "Oi", "id": "2"}))
            await asyncio.sleep(0)
            assert turns.waiting == 1
            await client.post("/api/chats/c/stop")
            assert events(await again) == events(await first)
            assert said(await waited) == ["Bom dia"]
            heard = await client.post(TALK, json={"message": "Oi", "id": "2"})
        assert said(heard) == ["Bom dia"]
        ids = [
            [data["id"] for _, data in events(one)[:-1] if data["role"] == "assistant"]
            for one in (waited.result(), heard)
        ]
        assert ids[0][-1] == ids[1][-1]
        assert [one.text for one in (await turns.last("ana", "c"))["messages"]].count("Bom dia") == 1
        cycles = await app.state.server.resources.services.memory.conversation("ana", "c", limit=9)
        assert [cycle.message.id for cycle in cycles] == ["1", "2"]
    async with web(tmp_path, models(fake_openai)) as client:  # another process, later
        assert said(await client.post(TALK, json={"message": "Oi", "id": "2"})) == ["Bom dia"]
        other = said(await client.post(TALK, json={"message": "Outra coisa", "id": "2"}))
        assert len(other) == 1 and "Bom dia" not in other[0]


async def test_a_turn_that_keeps_a_stop_to_itself_is_stopped_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    async def stubborn(*_: object, **__: object) -> AsyncGenerator[Wire, None]:
        for number in range(100):
            with suppress(asyncio.CancelledError if number == 0 else ValueError):
                await asyncio.sleep(60 if number == 0 else 0)
            told.append(number)
            yield wire(str(number), role="assistant")

    app = create_app(settings(tmp_path))
    async with serving(app):
        turns = app.state.server.turns
        monkeypatch.setattr(turns._runner, "turn", stubborn)
        talk = asyncio.create_task(anext(turns.say(Context(user_id="ana", channel="web"), "c", "Oi", id="1")))
        async with asyncio.timeout(60):
            while not turns.running:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.01)
            assert await turns.stop("ana", "c")
        assert (await talk)["content"] == "0"
        assert told == [0]


@pytest.mark.spec("BY-4", "BY-9")
async def test_nothing_is_said_in_a_chat_while_it_is_deleted(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    async with serving(app):
        turns = app.state.server.turns

        async def answered(user: str, chat: str) -> bool:
            try:
                return bool([part async for part in turns.say(Context(user_id=user), chat, "Oi", id="1")])
            except InputRefused as refused:
                assert refused.code == "chat_over"
                return False

        async with turns.closing_chat("ana", "c"):
            assert not await answered("ana", "c")
            assert await answered("ana", "d") and await answered("eve", "e")
            async with turns.closing_user("ana"):
                assert await answered("eve", "e") and not await answered("ana", "f")
            assert not await answered("ana", "c")
        assert await answered("ana", "c") and await answered("ana", "f")
