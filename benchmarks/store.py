"""`ThoughtCycleStore` beside LangGraph's `InMemoryStore`: puts, gets, searches with and without a filter."""

import statistics
import tempfile
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore

from benchmarks.machine import table
from thoughtcycle.integrations.store import ThoughtCycleStore
from thoughtcycle.memory.memory import Memory

SIZES, BATCH, TIMES = (1_000, 10_000), 500, 20
WHERE = ("bench", "notes")
SEARCHES: dict[str, dict[str, Any]] = {
    "the newest ten": {},
    "a filter that every third fits": {"filter": {"kind": "b"}},
    "a filter that one fits, the oldest": {"filter": {"n": 0}},
    "a comparison that none fits": {"filter": {"meta": {"size": {"$gt": 99}}}},
    "a filter, the last page": {"filter": {"kind": "b"}, "offset": -10},
    "a filter and a query": {"filter": {"n": {"$lt": 50}}, "query": "topic 7 place 3"},
}


async def run() -> str:
    """Items of one namespace, SQLite, no embeddings (so that InMemoryStore does not rank a query at all)."""
    columns: dict[str, dict[str, str]] = {}
    for size in SIZES:
        columns[f"InMemoryStore, {size:,} items"] = await _measured(InMemoryStore(), size)
        with tempfile.TemporaryDirectory() as folder:
            async with Memory.open(f"sqlite:///{folder}/bench.db", embeddings=None) as memory:
                ours = ThoughtCycleStore(memory, owner="bench")
                columns[f"ours, {size:,} items"] = await _measured(ours, size)
    names = list(next(iter(columns.values())))
    return table(("what", *columns), [(name, *(one[name] for one in columns.values())) for name in names])


async def _measured(store: BaseStore, size: int) -> dict[str, str]:
    found: dict[str, str] = {}
    started = perf_counter()
    for start in range(0, size, BATCH):
        await store.abatch([PutOp(WHERE, str(n), _value(n)) for n in range(start, start + BATCH)])
    found["puts, 500 at a time"] = f"{size / (perf_counter() - started):,.0f}/s"
    started = perf_counter()
    await store.asearch(WHERE, filter={"n": 0})
    found["the first search with a filter"] = f"{(perf_counter() - started) * 1000:.1f} ms"
    for name, asked in SEARCHES.items():
        options = {**asked, "offset": size // 3 - 10} if "offset" in asked else asked
        found[name] = await _median(lambda _, options=options: store.asearch(WHERE, **options))
    found["get"] = await _median(lambda number: store.aget(WHERE, str(number)))
    found["put"] = await _median(lambda number: store.aput(WHERE, f"new {number}", _value(number)))
    return found


async def _median(call: Callable[[int], Awaitable[object]]) -> str:
    times = []
    for number in range(TIMES):
        started = perf_counter()
        await call(number)
        times.append((perf_counter() - started) * 1000)
    return f"{statistics.median(times):.2f} ms"


def _value(number: int) -> dict[str, Any]:
    return {
        "text": f"note {number} on topic {number % 97} in place {number % 13}",
        "kind": "abc"[number % 3],
        "n": number,
        "meta": {"lang": ("pt", "en")[number % 2], "size": number % 10},
    }
