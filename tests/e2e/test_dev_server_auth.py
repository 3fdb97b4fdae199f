"""`langgraph dev` with authentication on: who comes in, and that nobody reaches another user's things."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from support.callers import AUDIENCE, ISSUER, KEYS, SECRET, auth, token, unsigned
from support.dev_server import dev_server
from thoughtcycle.memory.memory import Memory
from thoughtcycle.runtime.auth_settings import digest_of, new_key

BUSY = new_key()
THREAD, RUN, CRON = "{thread}", "{run}", "{cron}"


@dataclass(frozen=True)
class Server:
    """A running dev server that asks who is calling."""

    url: str
    log: Path


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('auth')}/dev.db"


@pytest.fixture(scope="module")
def server(db: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    keys = ",".join(f"{key.user}:{key.digest}" for key in auth().api_keys)
    environment = {
        "THOUGHTCYCLE_DB": db,
        "THOUGHTCYCLE_USER": "local",
        "THOUGHTCYCLE_AUTH__SECRET": SECRET,
        "THOUGHTCYCLE_AUTH__ISSUER": ISSUER,
        "THOUGHTCYCLE_AUTH__AUDIENCE": AUDIENCE,
        "THOUGHTCYCLE_AUTH__API_KEYS": f"{keys},busy:{digest_of(BUSY)}",
        "THOUGHTCYCLE_WEB__REQUESTS_PER_MINUTE": "120",
    }
    folder = tmp_path_factory.mktemp("server")
    with dev_server(folder, environment) as url:
        yield Server(url, folder / "dev.log")


def client(url: str, **headers: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers=headers, timeout=60)


@pytest.fixture(scope="module")
def ana(server: Server) -> Iterator[httpx.Client]:
    with client(server.url, authorization=f"Bearer {token()}") as one:
        yield one


@pytest.fixture(scope="module")
def bob(server: Server) -> Iterator[httpx.Client]:
    with client(server.url, **{"x-api-key": KEYS["bob"]}) as one:
        yield one


@pytest.fixture(scope="module")
def anas(ana: httpx.Client) -> dict[str, str]:
    """The ids of what is Ana's."""
    thread = ana.post("/threads", json={}).json()["thread_id"]
    said = {"assistant_id": "thought_cycle", "input": human("Meu nome é Ana.")}
    assert ana.post(f"/threads/{thread}/runs/wait", json=said).status_code == 200
    (run,) = ana.get(f"/threads/{thread}/runs").json()
    cron = {"assistant_id": "garden", "schedule": "0 3 1 1 *", "input": {"dry_run": True}}
    made = ana.post("/runs/crons", json=cron).json()
    item = {"namespace": ["ana", "notes"], "key": "k", "value": {"a": 1}}
    assert ana.put("/store/items", json=item).status_code == 204
    return {"thread": thread, "run": run["run_id"], "cron": made["cron_id"]}


def human(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "human", "content": text}]}


@pytest.mark.spec("BY-5")
@pytest.mark.parametrize("path", ["/threads/search", "/assistants/search", "/runs/wait", "/store/namespaces"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-auth-scheme": "langsmith"},
        {"x-auth-scheme": "langsmith", "x-api-key": "lsv2_anything"},
        {"authorization": f"Bearer {unsigned()}"},
        {"authorization": f"Bearer {token(aud='other')}"},
        {"authorization": f"Bearer {token(exp=1)}"},
        {"x-api-key": new_key()},
        {"cookie": f"thoughtcycle={KEYS['ana']}", "origin": "https://evil.example"},
    ],
)
def test_nobody_comes_in_unproved(server: Server, path: str, headers: dict[str, str]) -> None:
    with client(server.url, **headers) as nobody:
        answer = nobody.post(path, json={"assistant_id": "thought_cycle", "input": human("oi")})
    assert answer.status_code == (403 if "origin" in headers else 401)
    assert "Bearer" not in answer.headers.get("www-authenticate", "") and "jwt" not in answer.text.lower()


@pytest.mark.spec("BY-5")
@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/threads/{thread}", None, 404),
        ("GET", "/threads/{thread}/state", None, 404),
        ("POST", "/threads/{thread}/state", {"values": {"user_id": "bob"}}, 404),
        ("GET", "/threads/{thread}/history", None, 404),
        ("PATCH", "/threads/{thread}", {"metadata": {"owner": "bob"}}, 404),
        ("DELETE", "/threads/{thread}", None, 404),
        ("POST", "/threads/{thread}/copy", {}, (404, 409)),
        ("GET", "/threads/{thread}/runs", None, (200, 404)),
        ("GET", "/threads/{thread}/runs/{run}", None, 404),
        ("GET", "/threads/{thread}/runs/{run}/join", None, 404),
        ("GET", "/threads/{thread}/runs/{run}/stream", None, (200, 404)),
        ("POST", "/threads/{thread}/runs/{run}/cancel", {}, 404),
        ("DELETE", "/threads/{thread}/runs/{run}", None, 404),
        ("POST", "/threads/{thread}/runs/wait", {"assistant_id": "thought_cycle", "input": None}, 404),
        ("POST", "/threads", {"thread_id": THREAD, "if_exists": "do_nothing"}, (404, 409)),
        (
            "POST",
            "/threads/{thread}/runs/wait",
            {"assistant_id": "thought_cycle", "input": None, "if_not_exists": "create"},
            404,
        ),
        ("PATCH", "/runs/crons/{cron}", {"schedule": "* * * * *"}, 404),
        ("DELETE", "/runs/crons/{cron}", None, 404),
        ("PUT", "/store/items", {"namespace": ["ana"], "key": "k", "value": {}}, 403),
        ("GET", "/store/items?namespace=ana.notes&key=k", None, 403),
        ("DELETE", "/store/items", {"namespace": ["ana", "notes"], "key": "k"}, 403),
        ("POST", "/store/items/search", {"namespace_prefix": ["ana"]}, 403),
        ("POST", "/store/namespaces", {"prefix": ["ana"]}, 403),
        ("POST", "/store/namespaces", {"prefix": ["*"]}, 403),
        ("POST", "/assistants", {"graph_id": "thought_cycle"}, 403),
    ],
)
def test_anothers_things_are_not_there(
    bob: httpx.Client, anas: dict[str, str], method: str, path: str, body: Any, expected: Any
) -> None:
    if body and body.get("thread_id") == THREAD:
        body = body | {"thread_id": anas["thread"]}
    answer = bob.request(method, path.format(**anas), json=body)
    assert answer.status_code in (expected if isinstance(expected, tuple) else (expected,)), answer.text
    assert "Ana" not in answer.text
    if answer.status_code == 200:  # a list, or a stream that had begun when it was refused
        assert answer.text == "[]" or "404: Thread not found" in answer.text


@pytest.mark.spec("BY-5")
def test_lists_hold_only_ones_own(ana: httpx.Client, bob: httpx.Client, anas: dict[str, str]) -> None:
    for path, body, id in (
        ("/threads/search", {}, "thread"),
        ("/threads/search", {"metadata": {"graph_id": "thought_cycle"}}, "thread"),
        ("/runs/crons/search", {}, "cron"),
    ):
        assert [one[f"{id}_id"] for one in ana.post(path, json=body).json()] == [anas[id]]
        assert bob.post(path, json=body).json() == []
    assert ana.post("/store/namespaces", json={}).json()["namespaces"] == [["ana", "notes"]]
    assert bob.post("/store/namespaces", json={}).json()["namespaces"] == []
    assert bob.post("/store/items/search", json={"namespace_prefix": []}).json()["items"] == []


@pytest.mark.spec("BY-5", "LM-13")
def test_the_run_is_the_callers_whatever_it_says(bob: httpx.Client, anas: dict[str, str], db: str) -> None:
    said = {"assistant_id": "thought_cycle", "input": human("Moro em Lisboa.")}
    for named in ({"context": {"user_id": "ana"}}, {"config": {"configurable": {"user_id": "ana"}}}):
        thread = bob.post("/threads", json={"metadata": {"owner": "ana"}}).json()["thread_id"]
        forged = {"checkpoint": {"thread_id": anas["thread"]}, "metadata": {"owner": "ana"}}
        answer = bob.post(f"/threads/{thread}/runs/wait", json=said | named | forged)
        assert answer.status_code == 200, answer.text
        assert bob.get(f"/threads/{thread}/state").json()["values"]["messages"][0]["content"] == (
            "Moro em Lisboa."
        )
    known = {user: asyncio.run(contents(db, user)) for user in ("ana", "bob", "local")}
    assert "Lisboa" in known["bob"] and "Lisboa" not in known["ana"] + known["local"]


async def contents(db: str, user: str) -> str:
    async with Memory.open(db, embeddings=None) as memory:
        return str(await memory.list(user))


def test_the_page_and_the_api_beside_it_ask_too(
    server: Server, ana: httpx.Client, anas: dict[str, str]
) -> None:
    with client(server.url) as nobody:
        assert nobody.get("/api/memories").status_code == 401
        assert nobody.get("/").headers["location"].startswith("/login")
    assert anas and "Ana" in ana.get("/api/memories").text
    lines = [json.loads(line) for line in ana.get("/api/export").text.splitlines()]
    assert [line["content"]["key"] for line in lines if line.get("of") == "store" and "content" in line] == [
        "k"
    ]


@pytest.mark.spec("BY-5")
def test_a_cron_runs_as_who_made_it(bob: httpx.Client, db: str) -> None:
    """Also when it names somebody else. The sixth field is seconds, for the test's sake."""
    made = []
    for text, named in (("Gosto de pequi.", {}), ("Gosto de cacau.", {"context": {"user_id": "ana"}})):
        cron = {"assistant_id": "thought_cycle", "schedule": "* * * * * *", "input": human(text), **named}
        answer = bob.post("/runs/crons", json=cron)
        assert answer.status_code == 200, answer.text
        made.append(answer.json()["cron_id"])
    deadline = time.monotonic() + 120
    while not all(word in asyncio.run(contents(db, "bob")) for word in ("pequi", "cacau")):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert [bob.delete(f"/runs/crons/{cron}").status_code for cron in made] == [204, 204]
    for other in ("ana", "local"):
        assert not any(word in asyncio.run(contents(db, other)) for word in ("pequi", "cacau"))


@pytest.mark.spec("BY-5")
def test_page_and_api_ask_as_the_servers_own_routes_do(server: Server, ana: httpx.Client) -> None:
    with client(server.url) as nobody, client(server.url, authorization=f"Bearer {unsigned()}") as forged:
        for path in ("/api/memories", "/api/settings", "/-/metrics", "/mcp", "/threads/search"):
            for one in (nobody, forged):
                answer = one.request("POST" if path in ("/mcp", "/threads/search") else "GET", path, json={})
                assert answer.status_code == 401, (path, answer.text)
                assert "jwt" not in answer.text.lower() and "Error" not in answer.text
        assert nobody.get("/-/health").status_code == nobody.get("/ok").status_code == 200
        assert "Ana" not in nobody.get("/", follow_redirects=True).text
    said = {"assistant_id": "thought_cycle", "input": human("Gosto de caju.")}
    assert ana.post("/runs/wait", json=said).status_code == 200
    assert "caju" in ana.get("/api/memories").text


def test_a_new_thread_with_an_id_of_ones_own(bob: httpx.Client) -> None:
    thread = str(uuid4())
    said = {"assistant_id": "thought_cycle", "input": human("Oi!"), "if_not_exists": "create"}
    assert bob.post(f"/threads/{thread}/runs/wait", json=said).status_code == 200
    assert bob.get(f"/threads/{thread}").status_code == 200
    missing = bob.get(f"/threads/{uuid4()}")  # in LangGraph's own words, though our app stands around it
    assert missing.status_code == 404 and missing.json()["detail"].startswith("Thread with ID")


def test_who_asks_too_often_waits(server: Server) -> None:
    with client(server.url, **{"x-api-key": BUSY}) as busy:
        answers = [busy.post("/threads/search", json={})]
        while answers[-1].status_code == 200 and len(answers) < 10_000:
            answers.append(busy.post("/threads/search", json={}))
    assert len(answers) > 100 and answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0 and "too often" in answers[-1].text


def test_no_blocking_call_and_no_secret_in_the_log(server: Server) -> None:
    log = server.log.read_text()
    assert "Blocking" not in log
    assert not [secret for secret in (SECRET, *KEYS.values(), token()[:80]) if secret in log]


@pytest.mark.spec("BY-9")
def test_what_is_forgotten_leaves_the_callers_other_threads(bob: httpx.Client) -> None:
    """The server's copies are reached whoever is calling."""

    def say(thread: str, text: str) -> None:
        run = {"assistant_id": "thought_cycle", "input": {"messages": [{"role": "human", "content": text}]}}
        assert bob.post(f"/threads/{thread}/runs/wait", json=run).status_code == 200

    told, other = (bob.post("/threads", json={}).json()["thread_id"] for _ in "ab")
    say(told, "Lembre que moro em Zaragoza.")
    say(other, "Onde eu moro?")
    assert "Zaragoza" in bob.get(f"/threads/{other}").text
    say(told, "Esqueça que moro em Zaragoza.")
    for thread in (told, other):
        assert "Zaragoza" not in bob.get(f"/threads/{thread}").text
