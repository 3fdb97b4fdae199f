"""Time to the first token: beside a bare stream of the client, and what of it is spent in our process."""

import asyncio
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

from benchmarks.command import COMMAND
from benchmarks.machine import quantile, table
from support.dialogue import HEAVY, TALK, environment
from support.fake_openai import FakeOpenAI, Reply
from support.graphs import lab, one_model
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.mind.model_settings import Decisions
from thoughtcycle.nodes.base.context import Context

TURNS = 30
GREETINGS = 12
DELAY, PER_TOKEN = 0.3, 0.02
"""Seconds of the server to the first token, and between two."""
HELLO = "Oi, bom dia! Tudo bem?"
ANSWER = Reply("Olá! Tudo bem por aqui, e com você?", delay=DELAY, per_token=PER_TOKEN)

First = Callable[[], Awaitable[float]]
"""One turn: the seconds to its first token."""


def run() -> str:
    """Three tables."""
    return f"{asyncio.run(beside_bare())}\n\n{asyncio.run(sent())}\n\n{in_process()}"


async def beside_bare() -> str:
    """p50 of the time to the first token of a greeting; goal 1.25 times the bare stream."""
    with FakeOpenAI() as server:
        bare = await _median(lambda: _bare(server))
        rows = [
            ("bare `ChatOpenAI` stream", bare),
            ("`create_agent` with a search tool", await _agent(server)),
        ]
        for way in ("tools", "names"):
            rows.append((f"thought cycle, {way}", await _cycle(server, way)))
    shown = [(what, f"{seconds * 1000:.0f} ms", f"{seconds / bare:.2f}") for what, seconds in rows]
    return table(("greeting", "first token, p50", "× bare"), shown)


async def sent() -> str:
    """Per turn of a chat of ten greetings, each with a number of its own: requests, what they hold, and how much of it the turn before had."""
    rows = []
    with FakeOpenAI() as server:
        for way in ("tools", "names"):
            server.reset()
            first = len(server.requests)
            await _cycle(server, way, turns=10, answer=Reply(ANSWER.text))
            asked = [
                json.dumps(each.body["messages"]) for each in server.requests[first:] if each.model == "talk"
            ]
            per_turn = 1 if way == "tools" else 2
            pairs = [*zip(asked, asked[per_turn:], strict=False)][5 * per_turn :]
            size = sum(len(later) for _, later in pairs) / len(pairs)
            shared = sum(_shared(*pair) for pair in pairs) / len(pairs)
            rows.append((way, str(per_turn), f"{size * per_turn:.0f}", f"{shared / size:.0%}"))
    return table(("decisions", "requests per turn", "characters of messages", "as in the turn before"), rows)


def _shared(before: str, later: str) -> int:
    return next((n for n, (one, other) in enumerate(zip(before, later, strict=False)) if one != other), 0)


async def _median(first: First, turns: int = GREETINGS) -> float:
    return statistics.median([await first() for _ in range(turns + 2)][2:])


async def _first(stream: AsyncIterator[Any]) -> float:
    begun, first = time.perf_counter(), 0.0
    async for part in stream:
        chunk = part[0] if isinstance(part, tuple) else part
        if chunk.text:
            first = first or time.perf_counter() - begun
    return first


def _client(server: FakeOpenAI) -> ChatOpenAI:
    return ChatOpenAI(model="talk", base_url=server.url, api_key="sk-x", max_retries=0)  # type: ignore[arg-type]


async def _bare(server: FakeOpenAI) -> float:
    server.say(ANSWER)
    return await _first(_client(server).astream([HumanMessage(HELLO)]))


async def _agent(server: FakeOpenAI) -> float:
    def search(query: str) -> str:
        """Searches the memory of the user."""
        return query

    agent = create_agent(_client(server), [search])

    async def first() -> float:
        server.say(ANSWER)
        return await _first(agent.astream({"messages": [HumanMessage(HELLO)]}, stream_mode="messages"))

    return await _median(first)


async def _cycle(
    server: FakeOpenAI, way: Decisions, *, turns: int = GREETINGS, answer: Reply = ANSWER
) -> float:
    mind = LLMMind.from_settings(one_model(server, decisions=way))
    with tempfile.TemporaryDirectory() as folder:
        async with lab(Path(folder), server, mind=mind, explain="auto") as opened:
            await mind.warm()
            numbers = count(1)

            async def first() -> float:
                server.say(
                    *([Reply("Finish", delay=answer.delay)] if way == "names" else []), answer, model="talk"
                )
                given: Any = {"messages": [HumanMessage(f"{HELLO} {next(numbers)}")]}
                stream = opened.graph.astream(
                    given,
                    {"configurable": {"thread_id": "t"}},
                    context=Context(user_id="ana", language="pt"),
                    stream_mode="messages",
                    durability="async",
                )
                return await _first(stream)

            return await _median(first, turns)


def in_process() -> str:
    """p50 and p95 over 30 turns of `thoughtcycle chat --json`; goal 15 ms. Both clocks are the system's."""
    with FakeOpenAI() as server, tempfile.TemporaryDirectory() as folder:
        env = os.environ | environment(server)
        chat = subprocess.Popen(
            [COMMAND, "chat", "--json", "--db", f"sqlite:///{folder}/m.db", "--user", "bench"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        taken = [_turn(chat, server) for _ in range(TURNS)][2:]
        assert chat.stdin
        chat.stdin.close()
        chat.wait(30)
    ms = [seconds * 1000 for seconds in taken]
    return table(
        ("what", "p50", "p95", "goal"),
        [
            (
                "model's first chunk to our line",
                f"{statistics.median(ms):.1f} ms",
                f"{quantile(ms, 0.95):.1f} ms",
                "< 15 ms",
            )
        ],
    )


def _turn(chat: "subprocess.Popen[str]", server: FakeOpenAI) -> float:
    server.say("Finish", model=HEAVY)
    server.say(Reply("Uma resposta de algumas palavras.", per_token=0.02), model=TALK)
    assert chat.stdin and chat.stdout
    chat.stdin.write("Bom dia, tudo bem por aí?\n")
    chat.stdin.flush()
    arrived = 0.0
    for line in chat.stdout:
        message = json.loads(line)
        if message.get("delta"):
            arrived = arrived or time.monotonic()
        elif message["modal"] == "text":
            break
    sent = next(r.first_chunk_at for r in reversed(server.requests) if r.model == TALK)
    assert sent is not None
    return arrived - sent
