"""Erasure scenarios: a rare word that came to a place goes through a door, and is sought in all bytes and values.

Each place is tried with each door. The word has to be found before, by a program that shares no code with the
product, and nowhere afterwards, when all that waits in the background was done.
"""

import asyncio
import logging
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import httpx
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from mcp import Client
from pydantic import SecretStr

from support.command import run as command
from support.scripted_model import ScriptedModel, calls
from support.web import RULES, serving, settings
from thoughtcycle.integrations.mcp import create_server
from thoughtcycle.integrations.middleware import ThoughtCycleMiddleware
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.runtime.forgetting import delete_chat, forget_user
from thoughtcycle.web.app import create_app
from torture.children import Tell, done
from torture.erasure_places import FORMS, ITEMS, LIMITS, PLACES, Scene

Door: TypeAlias = Callable[[Scene, str], Awaitable[object]]
"""Erases what was brought; the text is how a user would ask for it."""


async def by_chat(scene: Scene, request: str) -> None:
    if (await scene.say(request)).endswith("Responda sim ou não."):
        await scene.say("sim")


async def by_api(scene: Scene, _: str) -> None:
    receipt = await scene.memory.erase("ana", scene.ids)
    assert receipt.left == (), receipt


async def by_command(scene: Scene, _: str) -> None:
    for id in scene.ids:
        await commanded(scene, "memories", "erase", id, "--yes")


async def commanded(scene: Scene, *args: str) -> None:
    """Runs a command, which must succeed."""
    await scene.close()
    env = {"THOUGHTCYCLE_SPOOL": str(scene.folder / "spool")}
    done = await asyncio.to_thread(command, *args, db=scene.url, env=env)
    assert done.returncode == 0, done.stderr


async def by_http(scene: Scene, _: str) -> None:
    await asked(scene, "/api/memories/erase", json={"ids": scene.ids, "confirm": True})


async def by_page(scene: Scene, _: str) -> None:
    for id in scene.ids:
        await asked(scene, f"/memories/{id}/erase", headers={"hx-request": "true"})


async def asked(scene: Scene, path: str, method: str = "POST", **more: Any) -> None:
    """Asks a server of this database, which must not refuse."""
    await scene.close()
    given = settings(scene.folder, db=SecretStr(scene.url), limits=LIMITS)
    async with serving(create_app(given, RULES)) as client:
        answer: httpx.Response = await client.request(method, path, **more)
        assert answer.status_code < 300, answer.text


async def by_mcp(scene: Scene, _: str) -> None:
    async with Client(create_server(scene.memory, Context(user_id="ana", channel="mcp"))) as client:
        for text in await texts(scene):
            await client.call_tool("memory_search", {"query": text})
        answer = await client.call_tool("memory_delete", {"ids": scene.ids})
        assert not answer.is_error, answer


async def by_middleware(scene: Scene, _: str) -> None:
    model = ScriptedModel()
    model.say(*(calls("search_memory", query=text) for text in await texts(scene)))
    model.say(calls("delete_memory", ids=scene.ids), "Done.")
    middleware = [ThoughtCycleMiddleware(scene.memory)]
    agent = create_agent(
        model, middleware=middleware, context_schema=Context, checkpointer=scene.talk.checkpointer
    )
    await agent.ainvoke(
        {"messages": [HumanMessage("Esqueça o que sabe disso.")]},
        {"configurable": {"thread_id": "agent"}},
        context=Context(user_id="ana", language="pt"),
    )


async def texts(scene: Scene) -> list[str]:
    """What a search for the memories has to ask."""
    found = [await scene.memory.get("ana", id) for id in scene.ids]
    return [one.text for one in found if one is not None]


async def forgotten(scene: Scene, _: str) -> None:
    farewell = await forget_user(scene.memory, scene.talk.checkpointer, "ana")
    assert farewell.left == {}, farewell


DOORS: dict[str, Door] = {
    "chat": by_chat,
    "command": by_command,
    "HTTP": by_http,
    "page": by_page,
    "API": by_api,
    "grace": lambda scene, _: scene.memory.hide("ana", scene.ids),
    "MCP": by_mcp,
    "middleware": by_middleware,
    "forget-user": forgotten,
    "forget-user by command": lambda scene, _: commanded(scene, "forget-user", "--yes"),
    "chat delete": lambda scene, _: delete_chat(scene.memory, scene.talk.checkpointer, "ana", "t"),
    "chat delete by HTTP": lambda scene, _: asked(scene, "/api/conversations/t", "DELETE"),
}
STORE_DOORS: dict[str, Door] = {
    "store erase": lambda scene, _: scene.store.aerase(*scene.item),
    "store delete": lambda scene, _: scene.store.adelete(*scene.item),
    "forget-user": forgotten,
}


def scenarios() -> list[tuple[str, str]]:
    """Door and place of all of them."""
    said = [
        (door, place)
        for door in DOORS
        for place, known in PLACES.items()
        if known.chat or not door.startswith("chat delete")
    ]
    return said + [(door, place) for door in STORE_DOORS for place in ITEMS]


async def play(url: str, folder: Path, door: str, place: str) -> list[str]:
    """One scenario in an empty database and folder: where the word survives. AssertionError: it did not take place."""
    act = (STORE_DOORS if place in ITEMS else DOORS)[door]
    known = {**PLACES, **ITEMS}[place]
    scene = Scene(url, folder, FORMS[scenarios().index((door, place)) % len(FORMS)])
    try:
        await scene.open()
        await known.bring(scene)
        await scene.note()
        assert any(known.where in line for line in scene.before), f"never in {known.where}: {scene.before}"
        scene.ids = [one.id for one in await scene.memory.list("ana", statuses=("active", "archived"))]
        assert scene.ids or place in ITEMS, "nothing was learned"
        await act(scene, known.request)
        await scene.close()
        found: list[str] = []
        for days in (2, 4):  # every grace period is over then, and what failed is tried again
            await scene.open(days)
            await scene.talk.understand()
            found += await scene.sought()
            await scene.close()
        return [*dict.fromkeys(found)]
    finally:
        await scene.close()


@dataclass
class Result:
    """What came of it."""

    scenarios: int = 0
    survivors: int = 0
    """Scenarios after which the word was still somewhere."""
    faults: list[str] = field(default_factory=list)


def run(new_url: Callable[[], str], folder: Path) -> Result:
    """Plays all scenarios; each has a database of its own, and the files of SQLite a folder."""
    urls = [new_url() for _ in scenarios()]
    result = Result()
    for told in done(lambda tell: _play_all(tell, urls, folder)):
        result.scenarios += 1
        result.survivors += bool(told["found"])
        result.faults += [f"{told['scenario']}: {fault}" for fault in (*told["found"], *told["failed"])]
    return result


async def _play_all(tell: Tell, urls: list[str], folder: Path) -> None:
    logging.disable(logging.WARNING)
    tempfile.tempdir = str(folder)  # of the processes for commands, which this one leaves behind
    for number, (url, (door, place)) in enumerate(zip(urls, scenarios(), strict=True)):
        own = folder / f"erasure {number}"
        own.mkdir()
        (outcome,) = await asyncio.gather(play(_within(own, url), own, door, place), return_exceptions=True)
        found = outcome if isinstance(outcome, list) else []
        failed = [] if isinstance(outcome, list) else [f"{type(outcome).__name__}: {outcome}"]
        tell("played", scenario=f"{door}, {place}", found=found, failed=failed)
        shutil.rmtree(own)


def _within(folder: Path, url: str) -> str:
    return f"sqlite:///{folder}/memory.db" if url.startswith("sqlite") else url
