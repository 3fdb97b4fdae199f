"""Metrics of what a user's memory holds and has done so far (LM-14)."""

import time
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from thoughtcycle.evals.metrics import Metric, mean, share, times
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle

_PAGE = 200
PROBES = 20
"""Latest messages for which memory is searched again, to see how long that takes."""


async def memory_metrics(memory: Memory, user: str) -> list[Metric]:
    """Reads the transcript and the memories once; nothing counts as accessed by it."""
    cycles = [cycle async for cycle in _cycles(memory, user) if cycle.replies]
    census = await memory.stats(user)
    profile = await memory.profile(user)
    latencies = [
        (cycle.replies[-1].at - cycle.message.at).total_seconds()
        for cycle in cycles
        if len(cycle.variants) == 1 and not cycle.variants[-1].cut  # another reply was asked for later
    ]
    steps = [cycle.variants[-1].steps if cycle.variants else () for cycle in cycles]
    tokens = [float(sum(step.get("tokens", 0) for step in each)) for each in steps]
    return [
        share("continuity", await _continued(memory, user, cycles), "store"),
        mean("memory_time", await _days(memory, user), "days", "store"),
        mean("confidence", [one.confidence for one in profile.entries], "share", "store"),
        *times("retrieval", await _searched(memory, user, cycles), "store"),
        *times("latency", [each for each in latencies if each >= 0], "store"),
        mean("tokens", tokens, "tokens", "store"),
        Metric("storage", float(census.bytes), "bytes", 1, "store"),
    ]


async def _cycles(memory: Memory, user: str) -> AsyncIterator[Cycle]:
    """The cycles on the live branches of all chats."""
    for chat in await memory.chats(user):
        ids = await memory.transcript.branch(user, chat.id)
        for start in range(0, len(ids), _PAGE):
            for cycle in await memory.transcript.cycles(user, ids[start : start + _PAGE]):
                yield cycle


async def _continued(memory: Memory, user: str, cycles: Sequence[Cycle]) -> list[bool]:
    """Per exchange to which memories were shown: whether one of them came from another chat."""
    wanted = list(dict.fromkeys(id for cycle in cycles for id in _shown(cycle)))
    sources: dict[str, str] = {}
    for start in range(0, len(wanted), _PAGE):
        for record in await memory.active(user, wanted[start : start + _PAGE]):
            if record.source.cycle is not None:
                sources[record.id] = record.source.cycle
    chats = {cycle.id: cycle.chat for cycle in cycles}
    return [
        any(chats.get(sources[id], cycle.chat) != cycle.chat for id in active)
        for cycle in cycles
        if (active := [id for id in _shown(cycle) if id in sources])
    ]


async def _days(memory: Memory, user: str) -> list[float]:
    """Days from when a memory was said to when it was last found, per memory that was ever found."""
    found: list[float] = []
    async for page in memory.upkeep.pages(user):
        used = await memory.accesses(user, [record.id for record in page])
        spans = [used[record.id].last - record.valid_from for record in page if record.id in used]
        found += [max(0.0, one / timedelta(days=1)) for one in spans]
    return found


async def _searched(memory: Memory, user: str, cycles: Sequence[Cycle]) -> list[float]:
    latest = sorted(cycles, key=lambda cycle: cycle.message.at)[-PROBES:]
    seconds: list[float] = []
    for cycle in latest:
        began = time.perf_counter()
        await memory.search(user, cycle.message.text[:2_000], limit=5, counted=False)
        seconds.append(time.perf_counter() - began)
    return seconds


def _shown(cycle: Cycle) -> Sequence[str]:
    return cycle.variants[-1].shown if cycle.variants else ()
