"""The HTTP API: what the command does, over HTTP, for one user and nobody else."""

import gzip
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.web import said, web

TALK = "/api/chats/c/messages"
SECRET = "coentro"


async def told(client: httpx.AsyncClient) -> str:
    """The id of a memory of ana's that speaks of the secret."""
    await client.post(TALK, json={"message": f"Meu nome é Pedro e odeio {SECRET}"})
    found = (await client.get("/api/memories/search", params={"query": SECRET})).json()
    id: str = found[0]["memory"]["id"]
    return id


async def ok(answer: Any) -> Any:
    answer = await answer
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


@pytest.mark.spec("BY-1", "BY-9", "HM-6")
async def test_a_memory_is_changed_undone_and_erased(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        id = await told(client)
        one = f"/api/memories/{id}"
        assert (await ok(client.get(f"{one}/why")))["origin"]["text"].endswith("coentro")
        assert (await ok(client.patch(one, json={"content": "Odeia salsa"})))["content"] == "Odeia salsa"
        assert (await ok(client.post(f"{one}/undo")))["record"]["content"] == "Odeia coentro"
        fields = (("pin", "pinned"), ("unpin", "pinned"), ("archive", "status"), ("restore", "status"))
        for change, field in (*fields, ("hide", "status")):
            (changed,) = await ok(client.post(f"/api/memories/changes/{change}", json={"ids": [id]}))
            assert changed[field] in (True, False, "archived", "active", "hidden")
        assert await ok(client.get("/api/memories/search", params={"query": SECRET})) == []
        hidden = await ok(client.get("/api/memories", params={"status": "hidden"}))
        assert [record["id"] for record in hidden] == [id] and SECRET not in str(hidden)
        await ok(client.post("/api/memories/undo"))
        assert [
            hit["memory"]["id"] for hit in await ok(client.get("/api/memories/search?query=coentro"))
        ] == [id]
        history = await ok(client.get(f"{one}/history"))
        assert (history[0]["op"], history[-1]["op"]) == ("save", "undo")
        assert (await client.post("/api/memories/erase", json={"ids": [id]})).status_code == 422
        receipt = await ok(client.post("/api/memories/erase", json={"ids": [id], "confirm": True}))
        assert receipt["memories"] == 1 and receipt["left"] == []
        everything = (await client.get("/api/export")).text + str(
            await ok(client.get("/api/conversations/c"))
        )
        assert SECRET not in everything


@pytest.mark.spec("BY-4", "LM-3")
async def test_the_user_as_a_whole(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        await told(client)
        assert (await ok(client.patch("/api/conversations/c", json={"title": "Gostos"})))["title"] == "Gostos"
        (chat,) = await ok(client.get("/api/conversations"))
        shown = (await ok(client.get("/api/conversations/c")))["metadata"]
        assert (chat["title"], chat["cycles"], chat["words"]) == ("Gostos", 1, shown["total_word_count"])
        spoken = await ok(client.get("/api/conversations/c/messages"))
        assert [message["role"] for message in spoken][:2] == ["user", "assistant"]
        brief = await ok(client.post("/api/briefing", json={"message": "O que você sabe de coentro?"}))
        assert SECRET in brief["text"] and 0 < brief["tokens"] <= 1_000
        changed = await ok(client.patch("/api/settings", json={"paused": True}))
        assert (
            changed["paused"] and (await ok(client.patch("/api/settings", json={"language": "pt"})))["paused"]
        )
        assert (await ok(client.get("/api/stats")))["chats"] == 1
        assert {metric["name"] for metric in await ok(client.get("/api/metrics"))}
        exported = (await client.get("/api/export")).content
        assert (await client.post("/api/forget", json={"confirm": "me"})).status_code == 422
        farewell = await ok(client.post("/api/forget", json={"confirm": "ana"}))
        assert farewell["erased"]["memories"] and not farewell["left"]
        assert await ok(client.get("/api/memories")) == []
        files = {"file": ("mine.jsonl", exported, "application/x-ndjson")}
        assert (await ok(client.post("/api/import", files=files)))["memories"] == 2
        assert SECRET in " ".join(said(await client.post(TALK, json={"message": "/lembrar coentro"})))


@pytest.mark.spec("BY-5")
async def test_nothing_of_another_user(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        id = await told(client)
        job = next(iter(await ok(client.get("/api/jobs"))), {"id": "none"})["id"]
    async with web(tmp_path, user="eve") as client:
        for path in (f"memories/{id}", f"memories/{id}/why", "conversations/c", "conversations/c/messages"):
            answer = await client.get(f"/api/{path}")
            assert answer.status_code == 404 and SECRET not in answer.text
        for method, path, body in (
            ("PATCH", f"memories/{id}", {"content": "x"}),
            ("POST", f"memories/{id}/undo", None),
            ("POST", "memories/changes/hide", {"ids": [id]}),
            ("POST", "memories/erase", {"ids": [id], "confirm": True}),
            ("DELETE", "conversations/c", None),
            ("PATCH", "conversations/c", {"title": "mine"}),
            ("POST", "briefing", {"message": SECRET, "chat": "c"}),
            ("POST", f"jobs/{job}/retry", None),
        ):
            answer = await client.request(method, f"/api/{path}", json=body)
            assert answer.status_code == 404 and SECRET not in answer.text, path
        for path in ("memories", "memories/search?query=coentro", "conversations", "jobs", "export"):
            assert SECRET not in (await client.get(f"/api/{path}")).text
    async with web(tmp_path) as client:
        assert (await ok(client.get(f"/api/memories/{id}")))["status"] == "active"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "memories?limit=0", None),
        ("GET", "memories?offset=99999999999999999999", None),
        ("GET", "memories?status=everything", None),
        ("GET", "memories?at=yesterday", None),
        ("GET", "memories/search", None),
        ("POST", "memories", {"content": ""}),
        ("POST", "memories", {"content": "x", "kind": "gossip"}),
        ("POST", "memories/changes/explode", {"ids": ["a"]}),
        ("POST", "memories/changes/pin", {"ids": []}),
        ("PATCH", "settings", {"time_zone": "Mars/Base"}),
        ("PATCH", "settings", {"language": "fr"}),
        ("POST", "briefing", {"message": "  "}),
        ("POST", "briefing", {"message": "x", "tokens": 1}),
    ],
)
async def test_what_cannot_be_used_gets_one_line(
    tmp_path: Path, method: str, path: str, body: dict[str, Any] | None
) -> None:
    async with web(tmp_path) as client:
        answer = await client.request(method, f"/api/{path}", json=body)
        assert answer.status_code == 422, answer.text
        assert set(answer.json()) == {"code", "message"} and "\n" not in answer.json()["message"]


async def test_a_body_that_cannot_be_read_is_told_so(tmp_path: Path) -> None:
    compressed = {"content-type": "application/json", "content-encoding": "gzip"}
    broken = {"content-type": "multipart/form-data; boundary=x"}
    async with web(tmp_path) as client:
        for path, headers in (("memories", compressed), ("memories/files", broken)):
            answer = await client.post(f"/api/{path}", content=gzip.compress(b"{}"), headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (400, "http.400")
            assert answer.json()["message"].startswith("The body of the request cannot be read")


async def test_what_was_expected_is_told_in_the_language_of_the_caller(tmp_path: Path) -> None:
    table = [
        ("briefing", '{"message": ', "O corpo do pedido", "JSON válido"),
        ("briefing", "[]", "O corpo do pedido", "um objeto JSON"),
        ("briefing", "{}", "message", "que estivesse lá"),
        ("briefing", '{"message": 1}', "message", "um texto"),
        ("briefing", '{"message": ""}', "message", "um texto com pelo menos 1 caractere"),
        ("briefing", '{"message": "x", "tokens": 1}', "tokens", "pelo menos "),
        ("briefing", '{"message": "x", "tokens": "many"}', "tokens", "um número inteiro"),
        ("briefing", '{"message": "x", "recipe": "soup"}', "recipe", "um destes: 'layered', 'compact'."),
        ("memories/changes/pin", '{"ids": []}', "ids", "pelo menos 1 item"),
        ("memories/changes/pin", '{"ids": 7}', "ids", "uma lista"),
    ]
    headers = {"accept-language": "pt-BR", "content-type": "application/json"}
    async with web(tmp_path) as client:
        for path, body, name, expected in table:
            answer = await client.post(f"/api/{path}", content=body, headers=headers)
            told = answer.json()["message"]
            assert told.startswith(f"{name} não pode ser usado como está. Esperado: {expected}"), told


async def test_the_api_describes_itself(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        described = await ok(client.get("/api/openapi.json"))
    for path, methods in described["paths"].items():
        for method in methods.values():
            assert method["description"], path
