"""Semantic compression: merges memories of the same meaning into the broader one (LM-11, HM-6)."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeAlias

from thoughtcycle.language.facts import Claim, reconcile
from thoughtcycle.language.parse import detect_language
from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.rules.decay import DuplicateFinder
from thoughtcycle.nodes.garden.run import GardenRun, Log, garden_update
from thoughtcycle.nodes.garden.state import GardenUpdate
from thoughtcycle.prompts.loader import Language

TOGETHER = 250
"""Pairs whose memories are read together."""
AT_ONCE = 100
"""Pairs merged in one commit."""

Pair: TypeAlias = tuple[MemoryRecord, MemoryRecord]
"""The memory to keep comes first, once that is decided."""


async def merge(garden: GardenRun) -> GardenUpdate:
    """Finds pairs by shared rare words, and decides by rules, never by similarity alone."""
    sketches = DuplicateFinder()
    async for page in garden.memory.upkeep.pages(garden.user):
        await asyncio.to_thread(sketches.add, page)
    log = Log("merge")
    pairs, ended = sketches.pairs(), set[str]()
    while some := await asyncio.to_thread(lambda: list(islice(pairs, TOGETHER))):
        await _decide(garden, some, ended, log)
    return garden_update([log])


async def _decide(garden: GardenRun, pairs: list[tuple[str, str]], ended: set[str], log: Log) -> None:
    ids = list(dict.fromkeys(id for pair in pairs for id in pair))
    records = {record.id: record for record in await garden.memory.active(garden.user, ids)}
    both = [(records[one], records[other]) for one, other in pairs if one in records and other in records]
    due: list[Pair] = []
    for keep, other in await asyncio.to_thread(same, both, garden.services.language):
        if keep.id in ended or other.id in ended:
            continue
        ended.add(other.id)
        log.add(other, "same", keep.text)
        due.append((keep, other))
    while due and not garden.dry:
        batch, due = disjoint(due)
        await _merge_unchanged(garden, batch)


def disjoint(pairs: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
    """A batch of pairs that share no memory, and the pairs for later batches."""
    first, later, taken = list[Pair](), list[Pair](), set[str]()
    for pair in pairs:
        ids = {record.id for record in pair}
        (later if taken & ids or len(first) == AT_ONCE else first).append(pair)
        taken |= ids
    return first, later


def same(pairs: Iterable[Pair], language: Language) -> list[Pair]:
    """The `pairs` of the same meaning, the memory to keep first: the pinned one, else the broader one."""
    found = []
    for one, other in pairs:
        if one.source.speaker != other.source.speaker or (one.pinned and other.pinned):
            continue
        spoken = detect_language(one.text, language)
        relation = reconcile(_claim(one), [_claim(other)], spoken)
        if relation.relation == "same":
            first = one.pinned or (relation.broader == "fact" and not other.pinned)
            found.append((one, other) if first else (other, one))
    return found


def _claim(record: MemoryRecord) -> Claim:
    return Claim(record.text, kind=record.kind, key=record.key, id=record.id)


async def _merge_unchanged(garden: GardenRun, pairs: Sequence[Pair]) -> None:
    """Merges the pairs whose memories still are as they were read."""
    seen = {record.id: (record.content, record.pinned) for pair in pairs for record in pair}

    def unchanged(*pair: MemoryRecord) -> bool:
        return all((now.content, now.pinned) == seen[now.id] for now in pair)

    ids = {other.id: keep.id for keep, other in pairs}
    await garden.memory.upkeep.merge_all(garden.user, ids, unchanged)
