"""The auth matrix: every route of the web app, asked by every kind of caller."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from inspect import isasyncgenfunction, iscoroutinefunction
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import Mount, Route

from support.callers import KEYS, auth, rsa_key, token, unsigned
from support.fake_openai import FakeOpenAI
from support.graphs import models
from support.web import RULES, serving, settings
from thoughtcycle.runtime.auth_settings import new_key
from thoughtcycle.web.app import ROUTERS, create_app
from thoughtcycle.web.auth.callers import COOKIE
from thoughtcycle.web.auth.middleware import AuthenticatedRoute
from thoughtcycle.web.webhooks import SignedRoute

OPEN = {
    ("GET", "/api/openapi.json"),
    ("GET", "/login"),
    ("POST", "/login"),
    ("POST", "/logout"),
    ("GET", "/-/health"),
    ("GET", "/-/ready"),
}
"""Routes for everybody: they tell nothing of any user."""

SIGNED = {("POST", "/channels/{name}/messages")}
"""Routes for gateways, which sign what they send; test_web_channels.py has their callers."""

WITH_IDS = {"/memories/bulk", "/api/memories/erase"}
"""Routes that take ids in the body alone."""

STRANGERS: dict[str, tuple[dict[str, str], int]] = {
    "none": ({}, 401),
    "expired": ({"authorization": f"Bearer {token(exp=1)}"}, 401),
    "forged": ({"authorization": f"Bearer {token('another secret of the right length')}"}, 401),
    "other audience": ({"authorization": f"Bearer {token(aud='other')}"}, 401),
    "other issuer": ({"authorization": f"Bearer {token(iss='other')}"}, 401),
    "other algorithm": ({"authorization": f"Bearer {token(rsa_key('theirs'), 'RS256')}"}, 401),
    "alg none": ({"authorization": f"Bearer {unsigned()}"}, 401),
    "unknown key": ({"x-api-key": new_key()}, 401),
    "studio": ({"x-auth-scheme": "langsmith"}, 401),
    "bad cookie": ({"cookie": f"{COOKIE}={new_key()}"}, 401),
    "other site": ({"cookie": f"{COOKIE}={KEYS['ana']}", "origin": "https://evil.example"}, 403),
}
RIGHT = {
    "token": {"authorization": f"Bearer {token()}"},
    "key": {"x-api-key": KEYS["ana"]},
    "cookie": {"cookie": f"{COOKIE}={KEYS['ana']}"},
}


def routes() -> list[tuple[str, str, type]]:
    """Method, path, and what kind of route it is."""
    app = create_app(settings(Path("unused"), auth=auth()), RULES)
    plain = [route for route in app.routes if isinstance(route, Route)]
    known = [*plain, *(route for router in ROUTERS for route in router.routes)]
    files = [route.path for route in app.routes if isinstance(route, Mount)]
    assert files == ["/static"], "a folder of files that this test does not see"
    assert len(app.routes) == len(plain) + len(ROUTERS) + 1, "a route that this test does not see"
    found = []
    for route in known:
        assert isinstance(route, Route | APIRoute)
        for method in sorted((route.methods or set()) - {"HEAD", "OPTIONS"}):
            found.append((method, route.path, type(route)))
    return found


CLOSED = [(method, path) for method, path, _ in routes() if (method, path) not in OPEN | SIGNED]
PAGES = {path for method, path in CLOSED if not path.startswith(("/api/", "/-/"))}
"""What a person looks at: who is not known is sent to the login page."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx.AsyncClient]:
    generous = {"requests_per_minute": 100_000, "burst": 100_000, "attempts_per_minute": 100_000}
    chosen = settings(tmp_path_factory.mktemp("matrix"), auth=auth(), web=generous)
    async with serving(create_app(chosen, RULES)) as client:
        yield client


def test_every_route_is_gated_or_known_to_be_open() -> None:
    for method, path, kind in routes():
        known = (method, path)
        assert issubclass(kind, AuthenticatedRoute) == (known not in OPEN | SIGNED), known
        assert issubclass(kind, SignedRoute) == (known in SIGNED), known


def test_no_request_begins_with_a_thread() -> None:
    """FastAPI calls a plain function on a thread of its pool, of which fifty callers would start forty."""

    def all_of(needed: Dependant) -> Iterator[Dependant]:
        yield needed
        for each in needed.dependencies:
            yield from all_of(each)

    every = [route for router in ROUTERS for route in router.routes]
    asked = {one.call for route in every if isinstance(route, APIRoute) for one in all_of(route.dependant)}
    assert len(asked) > 50
    assert [one for one in asked if not (iscoroutinefunction(one) or isasyncgenfunction(one))] == []


@pytest.mark.spec("BY-5")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("caller", STRANGERS)
async def test_strangers_reach_nothing(client: httpx.AsyncClient, caller: str) -> None:
    headers, status = STRANGERS[caller]
    for method, path in CLOSED:
        answer = await client.request(method, filled(path, "c"), headers=headers, content=unread())
        if path in PAGES:
            assert answer.status_code == (303 if status == 401 else status), (method, path)
            assert status != 401 or answer.headers["location"].startswith("/login"), (method, path)
            continue
        assert answer.status_code == status, (method, path, answer.text)
        assert set(answer.json()) == {"code", "message"} and answer.json()["code"].startswith("auth_")
        assert ("www-authenticate" in answer.headers) == (status == 401)


async def unread() -> AsyncIterator[bytes]:
    """A body that must not be read."""
    raise AssertionError("read before the caller was known")
    yield b""


@pytest.mark.spec("BY-5")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("caller", RIGHT)
async def test_the_right_one_comes_in(client: httpx.AsyncClient, caller: str) -> None:
    for method, path in CLOSED:
        answer = await client.request(method, filled(path, "mine"), headers=RIGHT[caller], content=b"{")
        assert answer.status_code not in (401, 403), (method, path, answer.text)
        assert not answer.headers.get("location", "").startswith("/login"), (method, path)


@pytest.mark.spec("BY-5")
@pytest.mark.asyncio(loop_scope="module")
async def test_anothers_ids_are_not_there(client: httpx.AsyncClient) -> None:
    ana, bob = RIGHT["key"], {"x-api-key": KEYS["bob"]}
    await client.post(
        "/api/chats/anas/messages", json={"message": "Meu nome é Ana.", "id": "m1"}, headers=ana
    )
    (before,) = (await client.get("/api/memories", headers=ana)).json()
    fields = {
        "ids": [before["id"]],
        "message": "oi",
        "replaces": "m1",
        "content": "x",
        "title": "x",
        "change": "pin",
        "confirm": True,
    }
    for method, path in CLOSED:
        if "{" in path or path in WITH_IDS:
            at = filled(path, before["id"] if "/memories/" in path else "anas", change="pin")
            body = {"data": fields} if path in PAGES else {"json": fields}
            answer = await client.request(method, at, headers=bob, **body)
            assert answer.status_code == 404 and "Ana" not in answer.text, (method, path, answer.text)
    assert (await client.get("/api/memories", headers=ana)).json() == [before]


def filled(path: str, id: str, **given: str) -> str:
    """The path with `id` in the place of every parameter that is not `given`."""
    return re.sub(r"\{(\w+)[^}]*\}", lambda match: given.get(match[1], id), path)


async def test_too_many_requests_and_guesses(tmp_path: Path) -> None:
    few = {"requests_per_minute": 1, "burst": 3, "attempts_per_minute": 1}
    stop = "/api/chats/c/stop"
    async with serving(create_app(settings(tmp_path, auth=auth(), web=few), RULES)) as client:
        answers = [await client.post(stop, headers=RIGHT["key"]) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200] * 3 + [429] * 2
        assert 0 < int(answers[-1].headers["retry-after"]) <= 60 and answers[-1].json()["code"] == "too_often"
        assert (await client.post(stop, headers={"x-api-key": KEYS["bob"]})).status_code == 200
        guesses = [await client.post(stop, headers={"x-api-key": new_key()}) for _ in range(3)]
        assert [answer.status_code for answer in guesses] == [401, 429, 429]
        assert (await client.post(stop, headers={"x-api-key": KEYS["bob"]})).status_code == 200


async def test_the_tokens_of_a_day_are_counted(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    app = create_app(settings(tmp_path, web={"tokens_per_day": 10}), models(fake_openai))
    talk = "/api/chats/c/messages"
    async with serving(app) as client:
        fake_openai.say("Finish", model="heavy")
        fake_openai.say("Olá, tudo bem com você hoje?", model="talk")
        assert (await client.post(talk, json={"message": "Oi"})).status_code == 200
        spent = await client.post(talk, json={"message": "Oi de novo"})
        assert (spent.status_code, spent.json()["code"]) == (429, "tokens_spent")
        assert 0 < int(spent.headers["retry-after"]) <= 86_400


async def test_what_waits_is_refused_once_the_day_is_spent(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    app = create_app(settings(tmp_path, web={"tokens_per_day": 10}), models(fake_openai))
    async with serving(app) as client:
        fake_openai.say("Finish", model="heavy")
        fake_openai.say("Olá, tudo bem com você hoje?", model="talk")
        told = [client.post("/api/chats/c/messages", json={"message": f"Oi {n}"}) for n in range(3)]
        answers = await asyncio.gather(*told)
        assert sorted("tokens_spent" in answer.text for answer in answers) == [False, True, True]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"host": "evil.example"}, "auth_local_only"),
        ({"x-forwarded-for": "203.0.113.9"}, "auth_local_only"),
        ({"origin": "https://evil.example"}, "auth_other_site"),
    ],
)
async def test_without_authentication_this_computer_alone(
    tmp_path: Path, headers: dict[str, str], code: str
) -> None:
    async with serving(create_app(settings(tmp_path), RULES)) as client:
        answer = await client.post("/api/chats/c/stop", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, code)
        assert (await client.post("/api/chats/c/stop")).status_code == 200
