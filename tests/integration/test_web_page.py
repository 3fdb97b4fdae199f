"""The page without a browser: its routes, its headers, and that nothing of anybody becomes HTML."""

import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from support.callers import KEYS, auth
from support.fake_openai import FakeOpenAI
from support.graphs import models
from support.web import serving, settings, web
from thoughtcycle.memory.model.job import Job
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.prompts.loader import texts
from thoughtcycle.web.app import create_app
from thoughtcycle.web.pages import chat as chat_page
from thoughtcycle.web.server.headers import POLICY

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><b style=color:red>"
HTMX = {"hx-request": "true"}


class Outline(HTMLParser):
    """What of a page could run or load something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.bad: list[str] = []
        self.loaded: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.bad += [name for name in found if name.startswith("on") or name == "style" or name == "hx-on"]
        self.bad += [tag] * (tag in ("style", "iframe", "object", "embed", "base"))
        self.bad += [tag] * (tag == "script" and not (found.get("src") or "").startswith("/static/"))
        self.loaded += [found[name] or "" for name in ("src",) if name in found]
        self.loaded += [found.get("href") or ""] * (tag == "link")


async def say(client: httpx.AsyncClient, message: str, chat: str = "c") -> str:
    return (await client.post(f"/api/chats/{chat}/messages", json={"message": message})).text


async def test_the_chat_shows_what_was_said_and_what_the_model_was_given(tmp_path: Path) -> None:
    async with web(tmp_path, headers={"accept-language": "pt-BR,pt;q=0.9"}) as client:
        empty = (await client.get("/")).text
        assert 'lang="pt"' in empty and texts("pt", "page")["welcome.rules"] in empty
        await say(client, "Meu nome é Pedro")
        await say(client, "Qual é o meu nome?")
        page = (await client.get("/chats/c")).text
        assert "Meu nome é Pedro" in page and "Guardei: Nome: Pedro." in page
        panel = (await client.get("/chats/c/turn", headers=HTMX)).text
        for shown in ("MemorySearch", texts("pt", "page")["usage.none"], "Pedro", "/memories/"):
            assert shown in panel
        listed = (await client.get("/chats", headers=HTMX)).text
        assert "Qual é o meu nome?" in listed
        renamed = await client.post("/chats/c/title", data={"title": "Apresentação"}, headers=HTMX)
        assert "Apresentação" in renamed.text
        gone = await client.post("/chats/c/delete", headers=HTMX)
        assert gone.headers["hx-redirect"] == "/"
        assert "Pedro" not in (await client.get("/chats/c")).text


async def test_a_chat_that_the_list_does_not_reach_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_page, "CHATS", 1)
    app = create_app(settings(tmp_path))
    async with serving(app) as client:
        memory = app.state.server.resources.services.memory
        at = datetime(2026, 3, 1, 12, tzinfo=UTC)
        for day in range(2):
            said, when = f"Dia {day}", at + timedelta(days=day)
            await memory.record_cycle(
                "ana", f"c{day}", user_text=said, reply_text="Oi", at=when, channel="web"
            )
        page = (await client.get("/chats/c0")).text
        assert page.count("Dia 0") == 1 and "/chats/c0/turn" in page
        assert "<h1>Dia 0</h1>" in (await client.get("/conversations/c0")).text
        assert (await client.get("/conversations/none")).status_code == 404


@pytest.mark.spec("BY-8")
async def test_tokens_and_cost_of_a_turn_are_shown(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    prices = "heavy=1/2,talk=3/4"
    app = create_app(settings(tmp_path, prices=prices), models(fake_openai))
    async with serving(app) as client:
        fake_openai.say("Finish", model="heavy")
        fake_openai.say("Olá!", model="talk")
        await say(client, "Bom dia")
        state = await app.state.server.turns.last("ana", "c")
        calls = {call["role"]: call for call in state["usage"]}
        assert calls.keys() == {"reasoning_heavy", "chat"}
        heavy, talk = calls["reasoning_heavy"], calls["chat"]
        cost = (heavy["input"] + 2 * heavy["output"] + 3 * talk["input"] + 4 * talk["output"]) / 1e6
        panel = (await client.get("/chats/c/turn")).text
        assert f"{cost:.5f}" in panel and f">{heavy['input']}<" in panel
        assert await app.state.server.turns.last("eve", "c") == {}


async def test_older_messages_come_page_by_page(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    async with serving(app) as client:
        memory = app.state.server.resources.services.memory
        start = datetime(2026, 1, 1, tzinfo=UTC)
        for n in range(40):
            at = start + timedelta(minutes=n)
            await memory.record_cycle("ana", "c", f"pergunta {n}.", f"resposta {n}.", at=at, channel="web")
        page, seen = (await client.get("/chats/c")).text, []
        while True:
            seen += [n for n in range(40) if f"pergunta {n}." in page]
            place = page.partition('hx-get="/chats/c/older?')[2].partition('"')[0]
            if not place:
                break
            page = (await client.get(f"/chats/c/older?{place}", headers=HTMX)).text
        assert sorted(seen) == list(range(40))


async def test_html_is_shown_as_text(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        await say(client, f"Meu nome é {HOSTILE}")
        await say(client, f"/lembrar {HOSTILE}")
        await client.post("/chats/c/title", data={"title": HOSTILE})
        for path in ("/chats/c", "/chats?current=c", "/chats/c/turn"):
            page = (await client.get(path)).text
            assert not Outline(page).bad, path
            assert "<script>alert" not in page and "<img src=x" not in page, path
            assert "&lt;script&gt;" in page, path


async def test_pages_load_little_and_nothing_from_elsewhere(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        for path in ("/", "/static/page.css", "/nothing", "/api/openapi.json"):
            headers = (await client.get(path)).headers
            assert headers["content-security-policy"] == POLICY, path
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
        page = await client.get("/")
        assert "no-store" in page.headers["cache-control"]
        loaded = Outline(page.text).loaded
        assert loaded and all(place.startswith("/static/") for place in loaded)
        files = [await client.get(place) for place in [*loaded, "/static/events.js"]]
        assert all(file.status_code == 200 for file in files)
        assert sum(len(file.content) for file in [page, *files]) < 200_000


@pytest.mark.spec("BY-5")
async def test_pages_of_another_users_chat_are_not_there(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        await say(client, "Meu nome é Pedro")
    async with web(tmp_path, user="eve") as client:
        for path in ("/chats/c", "/chats/c/turn", "/chats/c/older?before=x"):
            answer = await client.get(path)
            assert answer.status_code == 404 and "Pedro" not in answer.text, path
            assert answer.headers["content-type"].startswith("text/html")
        for path in ("/chats/c/title", "/chats/c/delete"):
            assert (await client.post(path, data={"title": "x"})).status_code == 404
    async with web(tmp_path) as client:
        assert "Pedro" in (await client.get("/chats/c")).text


async def test_a_key_opens_the_pages_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    async with web(tmp_path, auth=auth()) as client:
        sent = await client.get("/chats/c")
        assert sent.status_code == 303 and sent.headers["location"] == "/login?next=/chats/c"
        part = await client.get("/chats", headers=HTMX)
        assert part.headers["hx-redirect"] == "/login"
        wrong = await client.post("/login", data={"credential": "tc_wrong"})
        assert wrong.status_code == 401 and "set-cookie" not in wrong.headers
        foreign = await client.post(
            "/login", data={"credential": KEYS["ana"]}, headers={"origin": "https://evil.example"}
        )
        assert foreign.status_code == 403 and "set-cookie" not in foreign.headers
        right = await client.post("/login", data={"credential": KEYS["ana"], "next": "//evil.example"})
        assert right.headers["location"] == "/"
        cookie = right.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert (await client.get("/")).status_code == 200
        await client.post("/logout")
        assert (await client.get("/")).status_code == 303


async def test_without_authentication_nobody_has_to_log_in(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        assert (await client.get("/login")).headers["location"] == "/"
        assert "/logout" not in (await client.get("/")).text


async def ids_of(client: httpx.AsyncClient) -> list[str]:
    return [one["id"] for one in (await client.get("/api/memories")).json()]


@pytest.mark.spec("BY-8")
async def test_a_memory_is_explained_changed_and_brought_back(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        await say(client, "Meu nome é Pedro")
        (id,) = await ids_of(client)
        place = f"/memories/{id}"
        detail = (await client.get(place, headers=HTMX)).text
        for shown in ("Nome: Pedro", "Meu nome é Pedro", "<polyline", "biography", "Strength 100%"):
            assert shown in detail
        whole = (await client.get(place)).text
        assert "<html" in whole and "Meu nome é Pedro" in whole
        edited = await client.post(f"{place}/edit", data={"content": "Nome: Paulo"}, headers=HTMX)
        assert "Nome: Paulo" in edited.text and id in edited.headers["hx-trigger"]
        assert "Nome: Pedro" in (await client.post(f"{place}/undo", headers=HTMX)).text
        for change, shown in (
            ("pin", "Unpin"),
            ("unpin", "Archive"),
            ("archive", "Restore"),
            ("restore", "Pin"),
        ):
            assert shown in (await client.post(f"{place}/{change}", headers=HTMX)).text, change
        hidden = await client.post(f"{place}/hide", headers=HTMX)
        assert "Pedro" not in hidden.text and "Bring back" in hidden.text
        assert "Pedro" not in (await client.get("/memories?status=hidden")).text
        bulk = await client.post("/memories/bulk", data={"change": "undo", "ids": [id]}, headers=HTMX)
        assert bulk.status_code == 200 and "Pedro" in (await client.get("/memories")).text
        erased = await client.post(f"{place}/erase", headers=HTMX)
        assert "Pedro" not in erased.text and "Erased" in erased.text
        for path in ("/memories", "/memories?q=Pedro", place, "/chats/c"):
            assert "Nome: Pedro" not in (await client.get(path)).text, path


@pytest.mark.spec("BY-5", "BY-8")
async def test_several_are_changed_all_or_none(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        await say(client, "Meu nome é Pedro")
        (id,) = await ids_of(client)
        await client.post(f"/memories/{id}/edit", data={"content": "Nome: Paulo"}, headers=HTMX)
        before = (await client.get("/api/memories")).json()
        for change in ("pin", "unpin", "archive", "hide", "undo"):
            body = {"change": change, "ids": [id, "another's"]}
            assert (await client.post("/memories/bulk", data=body)).status_code == 404, change
            api = await client.post(f"/api/memories/changes/{change}", json={"ids": [id, "another's"]})
            assert api.status_code == (422 if change == "undo" else 404)
            assert (await client.get("/api/memories")).json() == before


async def test_memories_are_found_narrowed_and_paged(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    async with serving(app) as client:
        memory = app.state.server.resources.services.memory
        said = datetime(2026, 3, 1, 12, tzinfo=UTC)
        drafts = [
            MemoryDraft(
                content=f"Nota {n:03}.",
                kind=("bio", "pref", "emo", "obj")[n % 4],
                tags=("viagem",) if n < 3 else (),
                said=said + timedelta(days=n % 2 * 30),
            )
            for n in range(120)
        ]
        await memory.save("ana", drafts)
        await memory.save("ana", [MemoryDraft(content="senha: Xk9!ppq2 do portão")])
        place, seen = "/memories", 0
        while place:
            page = (await client.get(place, headers=HTMX)).text
            seen += page.count('<li id="m-')
            place = page.partition('hx-get="/memories?')[2].partition('"')[0].replace("&amp;", "&")
            place = place and f"/memories?{place}"
        assert seen == 121
        for query, count in (
            ("kind=emo", 30),
            ("kind=emo&tag=viagem", 1),
            ("tag=viagem", 3),
            ("since=2026-03-20&kind=pref", 30),
            ("until=2026-03-20&kind=pref", 0),
            ("q=portão", 1),
            ("q=portão&status=hidden", 0),
            ("status=archived", 0),
            ("at=2026-03-05&tag=viagem", 2),
        ):
            page = (await client.get(f"/memories?{query}", headers=HTMX)).text
            assert page.count('<li id="m-') == count, query
        assert "Xk9" not in (await client.get("/memories")).text
        refused = await client.get("/memories?kind=none", headers=HTMX)
        assert refused.headers["hx-retarget"] == "#toast" and "kind" in refused.text
        assert (await client.get("/memories?since=soon")).status_code == 422


async def test_a_memory_full_of_html_is_text(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    async with serving(app) as client:
        memory = app.state.server.resources.services.memory
        draft = MemoryDraft(content=HOSTILE, bindings=(HOSTILE,), tags=(HOSTILE,))
        (saved,) = await memory.save("ana", [draft])
        for path in ("/memories", f"/memories/{saved.record.id}", f"/memories?q={quote(HOSTILE)}"):
            page = (await client.get(path)).text
            assert not Outline(page).bad and "<script>alert" not in page and "<img src=x" not in page, path
            assert "&lt;script&gt;" in page, path


async def test_the_other_pages_show_what_is_kept(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    async with serving(app) as client:
        await say(client, "Meu nome é Pedro e prefiro café sem açúcar")
        memory = app.state.server.resources.services.memory
        dead = Job(id="j1", user="ana", kind="form", due=datetime.now(UTC), state="dead", error="worker_lost")
        await memory.queue.put(dead)
        await memory.queue.put(Job(id="j2", user="eve", kind="form", due=datetime.now(UTC), state="dead"))
        for path, shown in (
            ("/conversations", "/conversations/c"),
            ("/conversations/c", "Meu nome é Pedro"),
            ("/profile", "Profile"),
            ("/settings", "America/Sao_Paulo"),
            ("/metrics", "/metrics/figures"),
            ("/metrics/figures", "<rect"),
            ("/jobs", "failed for good"),
            ("/account", "/api/export"),
        ):
            answer = await client.get(path)
            assert answer.status_code == 200 and shown in answer.text, path
            assert not Outline(answer.text).bad, path
        listed = (await client.get("/jobs")).text
        assert "j2" not in listed and "worker_lost" not in listed
        assert "understand what was said" in listed and texts("en", "errors")["worker_lost"] in listed
        assert "waiting" in (await client.post("/jobs/j1/retry", headers=HTMX)).text
        assert (await client.post("/jobs/j2/retry", headers=HTMX)).headers["hx-retarget"] == "#toast"
        assert (await client.get("/conversations/none")).status_code == 404
        coded = (await client.post("/account/links/code", headers=HTMX)).text
        code = coded.partition("<code>link ")[2].partition("<")[0]
        await memory.link_channel("sms", "+55 81 1", code)
        linked = {"channel": "sms", "sender": "+55 81 1"}
        assert "+55 81 1" in (await client.get("/account")).text
        assert "+55 81 1" not in (await client.post("/account/links/end", data=linked, headers=HTMX)).text


async def test_numbers_times_and_names_are_the_readers(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    headers = {"accept-language": "pt-BR", "cookie": "zone=America%2FSao_Paulo"}
    async with serving(app, **headers) as client:
        memory = app.state.server.resources.services.memory
        at = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
        await memory.record_cycle("ana", "c", "Bom dia.", "Olá.", at=at, channel="web")
        await client.post("/account/links/code")
        for path, shown, not_shown in (
            ("/conversations", "28/02/2026 23:30", "2026-03-01"),
            ("/conversations/c", "2.500 palavras", "2500"),
            ("/account", " bytes", "Bytes"),
        ):
            page = (await client.get(path)).text
            assert shown in page and not_shown not in page, path
        table = (await client.get("/metrics/figures")).text.partition("<tbody>")[2]
        assert re.search(r">\d+,\d ms<", table) and not re.search(r"\d\.\d", table)
        assert "<code>ligar " in (await client.post("/account/links/code")).text
        await client.post("/settings", data={"time_zone": "Asia/Tokyo"})
        assert "01/03/2026 11:30" in (await client.get("/conversations")).text
        await client.post("/settings", data={})
        client.headers["cookie"] = "zone=..%2F..%2Fetc"
        assert (await client.get("/conversations")).status_code == 200


async def test_failures_are_pages_for_a_browser_in_the_users_language(tmp_path: Path) -> None:
    async with web(tmp_path, headers={"accept-language": "en"}) as client:
        for path in ("/nothing", "/api/nothing"):
            told = await client.get(path, headers={"accept": "text/html,*/*"})
            assert told.status_code == 404 and texts("en", "errors")["http.404"] in told.text
            assert told.headers["content-type"].startswith("text/html")
            assert (await client.get(path)).json()["code"] == "http.404"
        await client.post("/settings", data={"language": "pt"})
        told = await client.get("/memories/none", headers={"accept": "text/html"})
        assert told.status_code == 404 and texts("pt", "page")["failure"] in told.text
        assert "Memórias" in told.text
        refused = await client.post("/settings", data={"language": "pt", "time_zone": "Mars/Base"})
        assert "fuso" in refused.text and 'href="/settings">Voltar' in refused.text


async def test_settings_are_kept_and_the_page_speaks_the_users_language(tmp_path: Path) -> None:
    async with web(tmp_path, headers={"accept-language": "en"}) as client:
        form = {"language": "pt", "time_zone": "America/Recife", "smart_context": "on", "paused": "on"}
        saved = await client.post("/settings", data=form)
        assert saved.status_code == 303
        page = (await client.get(saved.headers["location"])).text
        assert texts("pt", "page")["settings.saved"] in page and 'lang="pt"' in page
        kept = (await client.get("/api/settings")).json()
        assert {name: kept[name] for name in form} == {**form, "smart_context": True, "paused": True}
        refused = await client.post("/settings", data={"time_zone": "Mars/Base"})
        assert refused.status_code == 422 and "Mars" in refused.text
        await client.post("/settings", data={})
        kept = (await client.get("/api/settings")).json()
        assert not any(kept[name] for name in form)


@pytest.mark.spec("BY-9")
async def test_forgetting_is_confirmed_and_shows_what_is_left(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        await say(client, "Meu nome é Pedro")
        refused = await client.post("/account/forget", data={"confirm": "eve"})
        assert refused.status_code == 422 and "ana was expected" in refused.text
        assert await ids_of(client)
        gone = await client.post("/account/forget", data={"confirm": "ana"})
        assert texts("en", "page")["forgotten"] in gone.text and "Pedro" not in gone.text
        left = gone.text.partition(texts("en", "page")["forgotten.left"])[2]
        assert "<dt>" not in left and "<dt>memories</dt><dd>1</dd>" in gone.text
        assert ".langgraph_api" in left and "backups" in left
        assert not await ids_of(client)
