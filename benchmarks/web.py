"""Fifty people at once on `thoughtcycle web`, with a model that takes 20 ms per call."""

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import httpx

from benchmarks.command import COMMAND
from benchmarks.machine import quantile, table
from support.mongo import mongodb_server, with_database
from thoughtcycle.runtime.auth_settings import digest_of, new_key

USERS, CALL_SECONDS, CALLS = 50, 0.02, 2
"""Calls of a turn that the user waits for: the decision and the reply."""
THINK = 10.0
"""Seconds that a person reads and writes between a reply and the next message, on average."""
SECONDS = float(os.environ.get("BENCH_WEB_SECONDS", "60"))
WARM = 0.25
"""Share of the run after which the server's memory is looked at first."""
SAYINGS = (
    "Bom dia, tudo bem por aí?",
    "Hoje o trânsito estava ruim.",
    "I am thinking about a trip to Lisbon in May.",
    "Quero economizar R$ 5.000 até dezembro.",
    "O que você sabe sobre mim?",
)
MODEL = f"""
import sys
from support.fake_openai import FakeOpenAI, Reply
JUDGED = '{{"importance": 20, "type": "chat", "summary": "said something", "facts": []}}'
def answer(asked):
    text = {{"heavy": "Finish", "talk": "Uma resposta de algumas palavras."}}.get(asked.model, JUDGED)
    server.requests.clear()
    return Reply(text, delay={CALL_SECONDS})
with FakeOpenAI() as server:
    server.answer = answer
    print(server.url, flush=True)
    sys.stdin.read()
"""


@dataclass
class Seen:
    """The observations of all clients."""

    turns: list[float] = field(default_factory=list)
    """Seconds of each turn, to the last byte."""
    errors: list[str] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    """Resident memory of all servers, every two seconds."""


def run() -> str:
    """One process on SQLite with people who think; then without pauses, on one process and on two."""
    rows = []
    with _model() as model:
        rows.append(_case("SQLite, 1 process, people", model, THINK, SECONDS))
        rows.append(_case("SQLite, 1 process, no pauses", model, 0.0, SECONDS / 4))
        for count in (1, 2):
            name = f"MongoDB stand-in, {count} process(es), no pauses"
            rows.append(_case(name, model, 0.0, SECONDS / 4, servers=count, mongodb=True))
    head = ("50 users", "turns", "turns/s", "errors", "own share p50", "own share p95", "memory", "growth")
    return table(head, rows)


def _case(
    name: str, model: str, think: float, seconds: float, *, servers: int = 1, mongodb: bool = False
) -> tuple[str, ...]:
    keys = [new_key() for _ in range(USERS)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        db = f"sqlite:///{folder}/m.db"
        if mongodb:
            db = with_database(stack.enter_context(mongodb_server(folder)), "bench")
        running = [stack.enter_context(_server(folder, db, model, keys, n)) for n in range(servers)]
        seen = asyncio.run(_talk(running, keys, think, seconds))
    own = [max(0.0, turn - CALLS * CALL_SECONDS) * 1_000 for turn in seen.turns]
    if not own:
        return (name, "0", "0", f"{len(seen.errors)} {seen.errors[:1]}", *["–"] * 4)
    warm, last = seen.bytes[int(len(seen.bytes) * WARM)], seen.bytes[-1]
    return (
        name,
        str(len(own)),
        f"{len(own) / seconds:.1f}",
        f"{len(seen.errors)} {seen.errors[0] if seen.errors else ''}".strip(),
        f"{quantile(own, 0.5):.0f} ms",
        f"{quantile(own, 0.95):.0f} ms",
        f"{last / 1e6:.0f} MB",
        f"{(last - warm) / 1e6:+.0f} MB in {(1 - WARM) * seconds:.0f} s",
    )


@contextmanager
def _model() -> Iterator[str]:
    """The address of a model server in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", MODEL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate()


@contextmanager
def _server(folder: Path, db: str, model: str, keys: Sequence[str], number: int) -> Iterator[tuple[str, int]]:
    """A server's address and process id."""
    roles = {"REASONING_HEAVY": "heavy", "REASONING": "reason", "CHAT": "talk", "BACKGROUND": "back"}
    env = {
        "OPENAI_API_KEY": "sk-bench",
        "OPENAI_BASE_URL": model,
        "THOUGHTCYCLE_EMBEDDING__MODEL": "lexical",
        "THOUGHTCYCLE_SPOOL": str(folder / f"spool{number}"),
        "THOUGHTCYCLE_WEB__REQUESTS_PER_MINUTE": "1000000",
        "THOUGHTCYCLE_AUTH__API_KEYS": ",".join(f"user{n}:{digest_of(key)}" for n, key in enumerate(keys)),
        **{f"THOUGHTCYCLE_{role}__MODEL": name for role, name in roles.items()},
    }
    with (folder / f"web{number}.log").open("wb") as log:
        process = subprocess.Popen(
            [COMMAND, "web", "--db", db, "--port", "0", "--json"],
            env=os.environ | env,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"], process.pid
        finally:
            process.terminate()
            process.communicate(timeout=30)


async def _talk(
    servers: Sequence[tuple[str, int]], keys: Sequence[str], think: float, seconds: float
) -> Seen:
    seen, until = Seen(), perf_counter() + seconds
    people = [_person(servers[n % len(servers)][0], key, n, think, until, seen) for n, key in enumerate(keys)]
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(_watch([pid for _, pid in servers], seen))
        await asyncio.gather(*people)
        watching.cancel()
    return seen


async def _person(url: str, key: str, number: int, think: float, until: float, seen: Seen) -> None:
    """Talks in one chat: a message, the whole reply, a while of thought."""
    chance = random.Random(number)
    async with httpx.AsyncClient(
        base_url=url, headers={"x-api-key": key}, timeout=120, verify=False
    ) as client:
        await asyncio.sleep(chance.uniform(0, think))
        while (begun := perf_counter()) < until:
            body = {"message": chance.choice(SAYINGS)}
            try:
                answer = await client.post(f"/api/chats/chat{number}/messages", json=body)
            except httpx.HTTPError as error:
                seen.errors.append(type(error).__name__)
                await asyncio.sleep(1)
                continue
            if answer.status_code != 200 or "event: failure" in answer.text:
                seen.errors.append(answer.text[-200:])
            seen.turns.append(perf_counter() - begun)
            await asyncio.sleep(chance.expovariate(1 / think) if think else 0)


async def _watch(pids: Sequence[int], seen: Seen) -> None:
    while True:
        seen.bytes.append(sum(map(_resident, pids)))
        await asyncio.sleep(2)


def _resident(pid: int) -> int:
    """Bytes of a process that lie in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
