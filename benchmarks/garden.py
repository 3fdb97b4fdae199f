"""The garden over many memories: seconds of each step, and peak memory."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from random import Random
from time import perf_counter, process_time

from benchmarks.machine import table
from benchmarks.peers import sentences
from benchmarks.stage import StubEmbeddings
from thoughtcycle.graph.garden import compile_garden
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services

MEMORIES = int(os.environ.get("BENCH_GARDEN", "100000"))
"""Memories of the user; BENCH_GARDEN=5000 takes seconds instead of minutes."""
BATCH, TWINS, LONG = 250, 50, 100
"""Memories per save; every so many says what another one says, every so many is a long story."""
THEN, NOW = datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 9, 1, tzinfo=UTC)


async def run() -> str:
    """A first run, in which much is due, and a second one, in which nothing is; goal 60 s, bounded memory."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/garden.db"
        await fill(url)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:  # whose peak is the garden's
            rows = [row for name in ("first run", "again") for row in pool.submit(tended, url, name).result()]
    return table(("garden", "step", "seconds", "CPU", "done", "peak memory over the start", "goal"), rows)


async def fill(url: str) -> None:
    """Memories of eight months: short ones of all kinds, some said twice in other words, some long."""
    texts = drafts()
    days = 240 * BATCH / MEMORIES
    clock = [THEN]
    async with Memory.open(url, embeddings=StubEmbeddings(), clock=lambda: clock[0]) as memory:
        for _ in range(0, MEMORIES, BATCH):
            await memory.save("bench", [next(texts) for _ in range(BATCH)])
            clock[0] += timedelta(days=days)


def drafts() -> Iterator[MemoryDraft]:
    """Endless; the same each time."""
    dice, known = Random(1), sentences(MEMORIES)
    for number, text in enumerate(known):
        kind = ("obj", "bio", "pref", "emo")[number % 4]
        if number % TWINS == 1:
            text = f"{known[number - 1]}, {dice.choice(('sempre', 'muito'))}"
            kind = "obj"
        elif number % LONG == 2:
            text = ". ".join(dice.choice(known) for _ in range(8))
        yield MemoryDraft(content=text, kind=kind)  # type: ignore[arg-type]


def tended(url: str, name: str) -> list[tuple[str, ...]]:
    """Runs the garden once in a process of its own."""
    return asyncio.run(_tended(url, name))


async def _tended(url: str, name: str) -> list[tuple[str, ...]]:
    rows = []
    async with Memory.open(url, embeddings=StubEmbeddings(), clock=lambda: NOW) as memory:
        garden = compile_garden(Services(memory, RuleMind(), clock=lambda: NOW))
        start, before = _Moment(), _peak()
        last = start
        async for update in garden.astream(
            {"dry_run": False}, context=Context(user_id="bench"), stream_mode="updates"
        ):
            for step, told in update.items():
                done = ", ".join(f"{task} {count:,}" for task, count in told["counts"].items())
                now = _Moment()
                rows.append((name, step, *now.since(last), done, f"{_peak() - before:,.0f} MB", ""))
                last = now
        rows.append((name, "all", *last.since(start), "", f"{_peak() - before:,.0f} MB", "< 60 s"))
    return rows


class _Moment:
    """A reading of the wall clock and the CPU clock."""

    def __init__(self) -> None:
        self.wall, self.used = perf_counter(), process_time()

    def since(self, before: "_Moment") -> tuple[str, str]:
        """Wall seconds and CPU seconds since the reading."""
        return f"{self.wall - before.wall:.1f}", f"{self.used - before.used:.1f}"


def _peak() -> float:
    """Megabytes that this process has held at most; `getrusage` would count its parent's, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
