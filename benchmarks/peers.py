"""Side by side in one run: this memory, mem0 and LangGraph's InMemoryStore, with the same embedder stub."""

import asyncio
import importlib.util
import os
import random
import statistics
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from benchmarks.machine import quantile, table
from benchmarks.stage import StubEmbeddings
from thoughtcycle.extras import extra_missing
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft

MEMORIES, SINGLES, BATCH, SEARCHES, IN_TURN = 5_000, 50, 500, 200, 10
USER, SPACE = "bench", ("bench", "memories")


@dataclass(frozen=True)
class Peer:
    """A store under comparison."""

    add: Callable[[str], Awaitable[object]]
    add_many: Callable[[Sequence[str]], Awaitable[object]]
    search: Callable[[str], Awaitable[Sequence[str]]]
    """Texts found, best first; ten are asked for."""
    fill: Callable[[Sequence[str]], Awaitable[object]] | None = None
    """Adds the same as `add_many`, untimed, where that one takes minutes."""


@dataclass(frozen=True)
class Figures:
    """The measurements of one store."""

    empty_adds: float
    """Single adds per second into an empty store."""
    full_adds: float
    """Single adds per second beside 5,000 memories."""
    batch_adds: float
    search_p50: float
    """Milliseconds, as `search_p95`."""
    search_p95: float
    survives: bool
    bytes: float
    """On disk, per memory; 0 where there is no file."""


class Stub(StubEmbeddings):
    """The benchmarks' stub with one vector per query, so that all stores embed alike."""

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)


@asynccontextmanager
async def ours(folder: Path) -> AsyncIterator[Peer]:
    """This project's memory in a SQLite file; each add survives kill -9."""
    async with Memory.open(f"sqlite:///{folder}/ours.db", embeddings=Stub()) as memory:

        async def add_many(texts: Sequence[str]) -> object:
            return await memory.save(USER, [MemoryDraft(content=text) for text in texts])

        async def search(query: str) -> list[str]:
            return [hit.record.text for hit in await memory.search(USER, query, limit=10)]

        yield Peer(lambda text: add_many([text]), add_many, search)


@asynccontextmanager
async def mem0(folder: Path) -> AsyncIterator[Peer]:
    """mem0 on FAISS, without inference, telemetry or network; its files and its history are in `folder`."""
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "home")}
    from mem0 import Memory as Mem0

    faiss = {"collection_name": "bench", "path": str(folder / "faiss"), "embedding_model_dims": 384}
    unused = {"provider": "openai", "config": {"api_key": "unused"}}
    memory: Any = Mem0.from_config(
        {
            "vector_store": {"provider": "faiss", "config": {**faiss, "distance_strategy": "cosine"}},
            "llm": unused,
            "embedder": unused,
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = _Mem0Embedder(Stub())

    async def add_many(texts: Sequence[str]) -> object:
        return memory.add([{"role": "user", "content": text} for text in texts], user_id=USER, infer=False)

    async def fill(texts: Sequence[str]) -> object:
        example = memory.vector_store.list(top_k=1)[0][0].payload
        return memory.vector_store.insert(
            vectors=Stub().embed_documents(list(texts)),
            payloads=[{**example, "data": text, "text_lemmatized": text} for text in texts],
            ids=[str(uuid4()) for _ in texts],
        )

    async def search(query: str) -> list[str]:
        found = memory.search(query, filters={"user_id": USER}, top_k=10, threshold=0.0)
        return [hit["memory"] for hit in found["results"]]

    yield Peer(lambda text: add_many([text]), add_many, search, fill)
    memory.close()


class _Mem0Embedder:
    """The stub behind mem0's embedder interface."""

    def __init__(self, stub: Embeddings) -> None:
        self._stub = stub

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._stub.embed_query(text)

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return self._stub.embed_documents(texts)


@asynccontextmanager
async def langgraph(folder: Path) -> AsyncIterator[Peer]:
    """LangGraph's InMemoryStore with its vector index; it keeps nothing on disk."""
    store = InMemoryStore(index={"dims": 384, "embed": Stub(), "fields": ["text"]})

    async def add_many(texts: Sequence[str]) -> object:
        return await store.abatch([PutOp(SPACE, str(uuid4()), {"text": text}) for text in texts])

    async def search(query: str) -> list[str]:
        return [item.value["text"] for item in await store.asearch(SPACE, query=query, limit=10)]

    yield Peer(lambda text: add_many([text]), add_many, search)


PEERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Peer]]] = {
    "thoughtcycle (SQLite)": ours,
    "mem0 (FAISS)": mem0,
    "LangGraph InMemoryStore": langgraph,
}


def run(plot: Path | None = None) -> str:
    """5,000 memories of one user in each; `plot`: a file for a drawing of it, its kind by its ending."""
    if importlib.util.find_spec("mem0") is None:
        return str(extra_missing("bench", "peers"))
    figures = asyncio.run(_measured())
    if plot is not None:
        _draw(figures, plot)
    rows = [
        ("single adds, empty store", *(f"{one.empty_adds:,.0f}/s" for one in figures.values())),
        (f"single adds beside {MEMORIES:,}", *(f"{one.full_adds:,.0f}/s" for one in figures.values())),
        (f"{BATCH} adds in one call", *(f"{one.batch_adds:,.0f}/s" for one in figures.values())),
        (
            "search (ours: hybrid, the others: vectors), p50",
            *(f"{one.search_p50:.2f} ms" for one in figures.values()),
        ),
        ("search p95", *(f"{one.search_p95:.2f} ms" for one in figures.values())),
        ("survives a restart", *("yes" if one.survives else "no" for one in figures.values())),
        ("on disk per memory", *(f"{one.bytes:,.0f} B" if one.bytes else "–" for one in figures.values())),
    ]
    return table((f"{MEMORIES:,} memories of one user, 384 dimensions", *figures), rows)


async def _measured() -> dict[str, Figures]:
    """Adds one store after the other, then searches in turns, so that the machine's moods meet all alike."""
    texts = sentences(MEMORIES + SINGLES)
    queries = [" ".join(text.split()[3:9]) for text in texts[:: len(texts) // SEARCHES]][:SEARCHES]
    with tempfile.TemporaryDirectory() as name:
        folders = {peer: Path(name) / str(number) for number, peer in enumerate(PEERS)}
        async with AsyncExitStack() as stack:
            stores, adds = {}, {}
            for peer, opened in PEERS.items():
                folders[peer].mkdir()
                stores[peer] = await stack.enter_async_context(opened(folders[peer]))
                adds[peer] = await _filled(stores[peer], texts)
            times = await _searched(stores, queries)
        sizes = {peer: _size(folder) / len(texts) for peer, folder in folders.items()}
        survives = {}
        for peer, opened in PEERS.items():
            async with opened(folders[peer]) as store:
                survives[peer] = texts[-1] in await store.search(texts[-1])
    return {
        peer: Figures(
            *adds[peer],
            statistics.median(times[peer]),
            quantile(times[peer], 0.95),
            survives[peer],
            sizes[peer],
        )
        for peer in PEERS
    }


async def _filled(store: Peer, texts: Sequence[str]) -> tuple[float, float, float]:
    """Adds per second: one by one into the empty store, and beside what fills it, and many in one call."""
    empty = SINGLES / await _one_by_one(store.add, texts[:SINGLES])
    batch = BATCH / await _timed(store.add_many, texts[SINGLES : SINGLES + BATCH])
    fill = store.fill or store.add_many
    for start in range(SINGLES + BATCH, MEMORIES, BATCH):
        await fill(texts[start : min(start + BATCH, MEMORIES)])
    return empty, SINGLES / await _one_by_one(store.add, texts[MEMORIES:]), batch


async def _searched(stores: Mapping[str, Peer], queries: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds of each search; the stores take turns of ten."""
    times: dict[str, list[float]] = {peer: [] for peer in stores}
    for start in range(0, len(queries), IN_TURN):
        for peer, store in stores.items():
            await store.search(queries[start])  # what another store left in the processor's caches goes
            times[peer] += [
                await _timed(store.search, query) * 1_000 for query in queries[start : start + IN_TURN]
            ]
    return times


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


async def _timed(work: Callable[[Any], Awaitable[object]], given: object) -> float:
    started = perf_counter()
    await work(given)
    return perf_counter() - started


async def _one_by_one(work: Callable[[str], Awaitable[object]], texts: Sequence[str]) -> float:
    started = perf_counter()
    for text in texts:
        await work(text)
    return perf_counter() - started


def sentences(count: int) -> list[str]:
    """Distinct sentences of 12 words out of 3,000, of which few are frequent and most are rare (Zipf's law)."""
    chance = random.Random(1)
    parts = ["ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "xo", "zu"]
    words = [a + b + c for a in parts for b in parts for c in parts][:3_000]
    chance.shuffle(words)
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    return [f"{number} {' '.join(chance.choices(words, weights, k=11))}" for number in range(count)]


def _draw(figures: dict[str, Figures], file: Path) -> None:
    """Bars on logarithmic scales: adds per second, and milliseconds per search."""
    from matplotlib import pyplot

    drawing, (adds, searches) = pyplot.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    by_kind = {
        "single, empty": "empty_adds",
        f"single, beside {MEMORIES:,}": "full_adds",
        "batch": "batch_adds",
    }
    panels: tuple[tuple[Any, str, str, float, dict[str, str]], ...] = (
        (adds, "adds per second (more is better)", "{:,.0f}", 1, by_kind),
        (
            searches,
            "milliseconds per search (less is better)",
            "{:,.1f}",
            0.1,
            {"p50": "search_p50", "p95": "search_p95"},
        ),
    )
    height = 0.8 / len(figures)
    for axes, title, form, least, fields in panels:
        for place, (name, one) in enumerate(figures.items()):
            values = [getattr(one, field) for field in fields.values()]
            bars = axes.barh([row + place * height for row in range(len(fields))], values, height, label=name)
            axes.bar_label(bars, fmt=form, padding=3, fontsize=8)
        axes.set_yticks([row + 0.4 - height / 2 for row in range(len(fields))], list(fields))
        axes.set_xscale("log")
        axes.set_xlim(
            least, max(getattr(one, field) for one in figures.values() for field in fields.values()) * 4
        )
        axes.invert_yaxis()
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    adds.legend(
        fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=len(figures)
    )
    drawing.savefig(file)
