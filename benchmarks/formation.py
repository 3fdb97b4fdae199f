"""Cost of forming memories from a cycle without a model: job, steps, reads and writes."""

import statistics
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle as forever
from itertools import pairwise
from time import perf_counter, process_time

from benchmarks.machine import quantile, table
from benchmarks.stage import StubEmbeddings, sentence
from thoughtcycle.evals.everyday_labels import HALVES, load
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.conversation import ConversationMemory, LedgerEntry, Period
from thoughtcycle.memory.model.job import Job
from thoughtcycle.memory.model.judgement import Preserved, PreservedData
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import create_worker

USER, START = "bench", datetime(2026, 1, 5, 12, tzinfo=UTC)
WARM, MEASURED = 40, 200
CHATS, MEMORIES = (0, 1_000, 10_000), (0, 10_000, 100_000)
REPLY = "Entendi. Vou levar isso em conta daqui em diante; se algo mudar, é só me dizer e eu corrijo."


async def run() -> str:
    """p50 and p95 of a cycle with `RuleMind` over SQLite; goal 30 ms, whatever was said before."""
    rows = [
        (f"{cycles:,} cycles before, {memories:,} memories", *await _measured(cycles, memories))
        for cycles, memories in [*((n, 0) for n in CHATS), *((0, n) for n in MEMORIES[1:])]
    ]
    return table(("chat", "p50", "p95", "CPU", "goal"), [(*row, "p50 < 30 ms") for row in rows])


async def _measured(cycles: int, memories: int) -> tuple[str, str, str]:
    """Milliseconds per cycle of one chat that goes on behind so many cycles, with so many memories."""
    texts = messages()
    with tempfile.TemporaryDirectory() as folder:
        async with Memory.open(f"sqlite:///{folder}/bench.db", embeddings=StubEmbeddings()) as memory:
            for start in range(0, memories, 250):
                drafts = [MemoryDraft(content=sentence(start + number)) for number in range(250)]
                await memory.save(USER, drafts)
            await before(memory, cycles)
            for number in range(WARM):
                await say(memory, next(texts), cycles + number)
            await drained(memory)
            for number in range(MEASURED):
                await say(memory, next(texts), cycles + WARM + number)
            began = process_time()
            times = await drained(memory)
            used = (process_time() - began) * 1000 / MEASURED
    return f"{statistics.median(times):.1f} ms", f"{quantile(times, 0.95):.1f} ms", f"{used:.1f} ms"


def messages() -> Iterator[str]:
    """The labelled everyday messages, again and again; each time they come they say something else."""
    found = [one.text for half in HALVES for one in load("pt", half)]
    found = [text for place in range(7) for text in found[place::7]]  # categories mixed
    return (text for text in forever(found))


async def say(memory: Memory, text: str, number: int, formation: str = "pending") -> str:
    """Stores one more exchange; returns the id of its cycle."""
    at = START + timedelta(minutes=number)
    done = "none" if formation == "none" else "pending"
    cycle = await memory.record_cycle(USER, "chat", text, REPLY, at=at, channel="bench", formation=done)
    return cycle.id


async def before(memory: Memory, cycles: int) -> None:
    """Builds a chat of formed and rolled-up cycles; every third names a number."""
    ids = [await say(memory, sentence(number), number, "none") for number in range(cycles)]
    if not ids:
        return
    known = ConversationMemory(chat_id="chat", user_id=USER, created_at=START, updated_at=START)
    period = Period(
        cycle_ids=tuple(ids[:-2]), since=START, until=START, summary="Conversas de antes.", word_count=3
    )
    data = PreservedData(numerical_values=(Preserved(said="R$ 350", normalised="350"),))
    ledger = [LedgerEntry(cycle_id=id, timestamp=START, preserved_data=data) for id in ids[:-2:3]]
    rolled = {"periods": (period,), "ledger": tuple(ledger), "head": ids[-1], "total_cycles": len(ids)}
    await memory.conversations.keep_conversation_memory(known.model_copy(update=rolled))


async def drained(memory: Memory) -> list[float]:
    """Runs all waiting formation jobs; returns milliseconds from each cycle to the next."""
    ends: list[float] = []

    def told(job: Job, outcome: str) -> None:
        if job.kind == "form":
            assert outcome == "done", outcome
            ends.append(perf_counter())

    await create_worker(Services(memory, RuleMind()), told=told).drain()
    return [(end - start) * 1000 for start, end in pairwise(ends)]
