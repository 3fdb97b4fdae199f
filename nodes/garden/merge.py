"""Semantic compression: of memories that say the same in other words the broader one stays (LM-11, HM-6)."""

import asyncio
from collections.abc import Iterable
from itertools import islice

from thoughtcycle.memory.gardening import Sketches
from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.mind.language.detect import detect_language
from thoughtcycle.mind.language.reconciling import Told, reconcile
from thoughtcycle.nodes.garden.state import GardenUpdate
from thoughtcycle.nodes.garden.tending import Garden, Log, told, unless_gone
from thoughtcycle.prompts.loader import Language

TOGETHER = 250
"""Pairs whose memories are read in one go."""


async def merge(garden: Garden) -> GardenUpdate:
    """Pairs are found by rare words that they share, and decided by rules, never by likeness alone."""
    sketches = Sketches()
    async for page in garden.memory.pages(garden.user):
        for record in page:
            sketches.add(record)
    log = Log("merge")
    pairs, ended = sketches.pairs(), set[str]()
    while some := list(islice(pairs, TOGETHER)):
        await _decide(garden, some, ended, log)
    return told([log])


async def _decide(garden: Garden, pairs: list[tuple[str, str]], ended: set[str], log: Log) -> None:
    ids = list(dict.fromkeys(id for pair in pairs for id in pair))
    records = {record.id: record for record in await garden.memory.active(garden.user, ids)}
    both = [(records[one], records[other]) for one, other in pairs if one in records and other in records]
    for keep, other in await asyncio.to_thread(same, both, garden.services.language):
        if keep.id in ended or other.id in ended:
            continue
        ended.add(other.id)
        log.add(other, "same", keep.text)
        if not garden.dry:
            await _one(garden, keep, other)


def same(
    pairs: Iterable[tuple[MemoryRecord, MemoryRecord]], language: Language
) -> list[tuple[MemoryRecord, MemoryRecord]]:
    """Those of `pairs` that say the same, the one to keep first; pinned is kept before broader."""
    found = []
    for one, other in pairs:
        if one.source.speaker != other.source.speaker or (one.pinned and other.pinned):
            continue
        spoken = detect_language(one.text, language)
        relation = reconcile(_told(one), [_told(other)], spoken)
        if relation.relation == "same":
            first = one.pinned or (relation.broader == "fact" and not other.pinned)
            found.append((one, other) if first else (other, one))
    return found


def _told(record: MemoryRecord) -> Told:
    return Told(record.text, kind=record.kind, key=record.key, id=record.id)


async def _one(garden: Garden, keep: MemoryRecord, other: MemoryRecord) -> None:
    """Merges the two, unless one of them went meanwhile, or says something else, or was pinned."""

    def still(one: MemoryRecord, two: MemoryRecord) -> bool:
        pairs = ((one, keep), (two, other))
        return all((now.content, now.pinned) == (seen.content, seen.pinned) for now, seen in pairs)

    with unless_gone():
        await garden.memory.merge(garden.user, keep.id, other.id, still=still)
