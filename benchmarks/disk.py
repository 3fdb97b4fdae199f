"""Bytes on disk per memory and per cycle, and where they go; how long a long conversation takes to load."""

import sqlite3
import statistics
import tempfile
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from time import perf_counter

from benchmarks.machine import quantile, table
from benchmarks.peers import Stub, sentences
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft, utc_now

MEMORIES, BATCH, CYCLES, LOADS = 5_000, 500, 1_000, 200
SIZES = """
SELECT owner.tbl_name, owner.type, SUM(pages.pgsize) FROM dbstat AS pages
JOIN sqlite_master AS owner ON owner.name = pages.name GROUP BY owner.tbl_name, owner.type
"""


async def run() -> str:
    """5,000 memories of 12 words with a 384-dimension vector each; a chat of 1,000 cycles; goal 20 ms at p95."""
    with tempfile.TemporaryDirectory() as folder:
        memories, cycles = Path(folder) / "memories.db", Path(folder) / "cycles.db"
        texts = sentences(MEMORIES)
        async with Memory.open(f"sqlite:///{memories}", embeddings=Stub()) as memory:
            for start in range(0, MEMORIES, BATCH):
                await memory.save(
                    "bench", [MemoryDraft(content=text) for text in texts[start : start + BATCH]]
                )
        await _talk(f"sqlite:///{cycles}", texts)
        tables = [
            _where(memories, f"{MEMORIES:,} memories, per memory", MEMORIES),
            _where(cycles, f"{CYCLES:,} cycles, per cycle", CYCLES),
            await _loads(f"sqlite:///{cycles}"),
        ]
    return "\n\n".join(tables)


async def _talk(url: str, texts: list[str]) -> None:
    start = utc_now()
    async with Memory.open(url, embeddings=Stub()) as memory:
        for number in range(CYCLES):
            said, replied = texts[2 * number], " ".join(texts[2 * number + 1 : 2 * number + 4])
            at = start + timedelta(seconds=number)
            await memory.record_cycle("bench", "chat", said, replied, at=at, channel="bench")


def _where(file: Path, what: str, count: int) -> str:
    """The bytes of each table and of its indexes, the largest first."""
    with closing(sqlite3.connect(file)) as db:
        found = db.execute(SIZES).fetchall()
    sizes: dict[str, dict[str, int]] = {}
    for name, kind, size in found:
        sizes.setdefault(name, {})[kind] = size
    ordered = sorted(sizes.items(), key=lambda pair: -sum(pair[1].values()))
    rows = [_row(name, size, count) for name, size in ordered if sum(size.values()) / count >= 1]
    whole = sum(sum(size.values()) for size in sizes.values())
    return table((what, "table", "indexes", "both"), [*rows, ("**all**", "", "", f"{whole / count:,.0f} B")])


def _row(name: str, size: Mapping[str, int], count: int) -> tuple[str, ...]:
    own, indexes = size.get("table", 0) / count, size.get("index", 0) / count
    return (f"`{name}`", f"{own:,.0f} B", f"{indexes:,.0f} B", f"{own + indexes:,.0f} B")


async def _loads(url: str) -> str:
    """The last two cycles, as each turn loads them: in a process that runs, and as its first act."""
    async with Memory.open(url, embeddings=None) as memory:
        running = [await _load(memory) for _ in range(LOADS)]
    first = []
    for _ in range(LOADS // 10):
        started = perf_counter()
        async with Memory.open(url, embeddings=None) as memory:
            await _load(memory)
            first.append((perf_counter() - started) * 1000)
    rows = [
        (name, f"{statistics.median(times):.2f} ms", f"{quantile(times, 0.95):.2f} ms", "< 20 ms")
        for name, times in (("load", running), ("open the file and load", first))
    ]
    return table((f"a conversation of {CYCLES:,} cycles", "p50", "p95", "goal at p95"), rows)


async def _load(memory: Memory) -> float:
    started = perf_counter()
    await memory.conversation("bench", "chat")
    return (perf_counter() - started) * 1000
