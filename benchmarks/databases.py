"""The memory on each database: save, search, update, a closed cycle, the first search of a new process."""

import os
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from uuid import uuid4

from benchmarks.machine import table
from benchmarks.stage import StubEmbeddings
from support.mongo import mongodb_server, with_database
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CycleMessage, MemoryDraft, utc_now

MEMORIES, TIMES, BATCH = 2_000, 40, 500


async def run() -> str:
    """2,000 memories of one user; MongoDB is the server of TEST_MONGODB_URI, else the tests' stand-in."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        given = os.environ.get("TEST_MONGODB_URI")
        server = given or servers.enter_context(mongodb_server(Path(folder)))
        mongodb = with_database(server, f"thoughtcycle_bench_{uuid4().hex[:12]}")
        urls = {"SQLite": f"sqlite:///{folder}/bench.db", "MongoDB" if given else "MongoDB stand-in": mongodb}
        columns = [await _measured(url) for url in urls.values()]
    rows = [(what, *(column[what] for column in columns)) for what in columns[0]]
    return table(("what", *urls), rows)


async def _measured(url: str) -> dict[str, str]:
    found: dict[str, str] = {}
    async with Memory.open(url, embeddings=StubEmbeddings()) as memory:
        started = perf_counter()
        for start in range(0, MEMORIES, BATCH):
            await memory.save("ana", [_draft(number) for number in range(start, start + BATCH)])
        found["batch saves"] = f"{MEMORIES / (perf_counter() - started):.0f}/s"
        found["single save"] = await _times(lambda number: memory.save("ana", [_draft(-number - 1)]))
        await memory.search("ana", "topic 1")
        found["search"] = await _times(lambda number: memory.search("ana", f"what of topic {number}"))
        ids = [record.id for record in await memory.list("ana", limit=TIMES)]
        found["update"] = await _times(
            lambda number: memory.update("ana", ids[number], content=f"new {number}")
        )
        found["hide"] = await _times(lambda number: memory.hide("ana", [ids[number]]))

        async def talk(number: int) -> None:
            message = CycleMessage(id=str(number), role="user", text="oi", at=utc_now())
            cycle = await memory.transcript.open_cycle("ana", "chat", message, parent=None, channel="cli")
            await memory.transcript.close_cycle("ana", cycle.id, execution="e", messages=[], steps=[])

        found["open and close a cycle"] = await _times(talk)
        found["load a conversation"] = await _times(lambda _: memory.conversation("ana", "chat"))
    async with Memory.open(url, embeddings=StubEmbeddings()) as memory:
        started = perf_counter()
        await memory.search("ana", "topic 1")
        found["first search of a new process"] = f"{(perf_counter() - started) * 1000:.0f} ms"
    return found


def _draft(number: int) -> MemoryDraft:
    return MemoryDraft(content=f"fact {number} about topic {number % 97}", bindings=(f"topic {number % 97}",))


async def _times(work: Callable[[int], Awaitable[object]]) -> str:
    """Median and 95th percentile over `TIMES` calls."""
    times = []
    for number in range(TIMES):
        started = perf_counter()
        await work(number)
        times.append((perf_counter() - started) * 1000)
    times.sort()
    return f"{times[TIMES // 2]:.1f} / {times[TIMES * 95 // 100]:.1f} ms"
