"""The memory of one user as it grows: adds, searches, a cold process, others beside it."""

import asyncio
import os
import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from benchmarks.machine import quantile, table
from benchmarks.peers import Stub, sentences
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft

SIZES = {5_000: "", 10_000: "p50 <= 3 ms", 100_000: "p50 <= 15 ms"}
BATCH, SINGLES, SEARCHES = 250, 200, 200
OTHERS, EACH = int(os.environ.get("BENCH_OTHERS", "1000")), 1_000
"""Users beside the one who searches, and memories of each; BENCH_OTHERS=50 takes seconds instead of minutes."""


async def run() -> str:
    """SQLite, 384-dimension stub vectors, 12 words each, queries of 6 words; goals of the specification."""
    texts = sentences(max(SIZES) + SINGLES)
    adds, searches, starts = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size, goal in SIZES.items():
            url = f"sqlite:///{folder}/{size}.db"
            async with Memory.open(url, embeddings=Stub()) as memory:
                adds.append(
                    (f"batches of {BATCH}, up to {size:,}", await _fill(memory, texts[:size]), ">= 5,000/s")
                )
                singles = await _singles(memory, texts[max(SIZES) :])
                adds.append((f"one by one beside {size:,}", singles, ">= 725/s"))
                searches.append((f"{size:,}", *await _searches(memory, texts[:size]), goal))
            starts.append(_starts(url, size))
        beside = await _beside(folder, texts)
    return "\n\n".join(
        (
            table(("adds, durable", "per second", "goal"), adds),
            table(("memories of the user", "p50", "p95", "memory of the index", "goal"), searches),
            table(("memories of the user", "first search of a process", "goal"), starts),
            beside,
        )
    )


async def _fill(memory: Memory, texts: Sequence[str], user: str = "bench") -> str:
    started = perf_counter()
    for start in range(0, len(texts), BATCH):
        await memory.save(user, [MemoryDraft(content=text) for text in texts[start : start + BATCH]])
    return f"{len(texts) / (perf_counter() - started):,.0f}"


async def _singles(memory: Memory, texts: Sequence[str]) -> str:
    started = perf_counter()
    for text in texts:
        await memory.save("bench", [MemoryDraft(content=text)])
    return f"{len(texts) / (perf_counter() - started):,.0f}"


async def _searches(memory: Memory, texts: Sequence[str]) -> tuple[str, str, str]:
    times = await _times(memory, texts, SEARCHES)
    used = memory.index_memory / 1e6
    return f"{statistics.median(times):.2f} ms", f"{quantile(times, 0.95):.2f} ms", f"{used:,.0f} MB"


async def _times(memory: Memory, texts: Sequence[str], count: int) -> list[float]:
    """Milliseconds of each search, the first one aside."""
    times = []
    for text in texts[:: len(texts) // count][:count]:
        started = perf_counter()
        await memory.search("bench", " ".join(text.split()[3:9]), limit=10)
        times.append((perf_counter() - started) * 1000)
    return times[1:]


def _starts(url: str, size: int) -> tuple[str, ...]:
    """A process of its own for each start, timed from the open database to the first hits."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        fastest = min(pool.submit(first_search, url).result() for _ in range(3))
    return f"{size:,}", f"{fastest:.2f} s", "< 3 s" if size == max(SIZES) else ""


def first_search(url: str) -> float:
    """Seconds of the first search; called in a new process."""

    async def search() -> float:
        async with Memory.open(url, embeddings=Stub()) as memory:
            started = perf_counter()
            await memory.search("bench", "what of mara and sola", limit=10)
            return perf_counter() - started

    return asyncio.run(search())


async def _beside(folder: Path, texts: Sequence[str]) -> str:
    """10,000 memories alone, and in a database with many users of 1,000 each: searched in turn."""
    own = texts[:10_000]
    async with (
        Memory.open(f"sqlite:///{folder}/alone.db", embeddings=Stub()) as alone,
        Memory.open(f"sqlite:///{folder}/beside.db", embeddings=Stub()) as beside,
    ):
        await _fill(alone, own)
        for number in range(OTHERS):
            await _fill(beside, texts[number : number + EACH], f"user {number}")
        await _fill(beside, own)
        for number in range(OTHERS):
            await beside.search(f"user {number}", texts[number])
        pairs = [(await _times(alone, own[n:], 20), await _times(beside, own[n:], 20)) for n in range(20)]
        columns = [[time for times in column for time in times] for column in zip(*pairs, strict=True)]
        used = [memory.index_memory / 1e6 for memory in (alone, beside)]
    rows = [
        (
            f"{others:,} users of {EACH:,} beside",
            f"{statistics.median(times):.2f} ms",
            f"{quantile(times, 0.95):.2f} ms",
            f"{memory:,.0f} MB",
            "p50 <= 1.5 x alone" if others else "",
        )
        for others, times, memory in zip((0, OTHERS), columns, used, strict=True)
    ]
    return table(("10,000 memories of the user", "p50", "p95", "memory of all indexes", "goal"), rows)
