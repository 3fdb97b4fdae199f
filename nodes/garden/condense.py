"""Progressive summarisation: what is old, long and not used is said in fewer words (LM-11)."""

import asyncio
from datetime import timedelta

from thoughtcycle.memory.gardening import last_use
from thoughtcycle.memory.ledger import figures
from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.mind.language.shortening import shorten
from thoughtcycle.nodes.garden.state import GardenUpdate
from thoughtcycle.nodes.garden.tending import Garden, Log, told, unless_gone

OLD = timedelta(days=90)
LONG, SHORT = 60, 40
"""Words above which a memory is long, and to which it is brought."""
MOST = 200
"""Memories condensed in one run: the next goes on."""


async def condense(garden: Garden) -> GardenUpdate:
    """Plain text only; numbers, dates, names and negations stay, and the journal keeps every word."""
    log = Log("condense")
    async for page in garden.memory.pages(garden.user):
        long = [record for record in page if _long(record)]
        used = await garden.memory.accesses(garden.user, [record.id for record in long]) if long else {}
        for record in long:
            if garden.now - last_use(record, used.get(record.id)) < OLD:
                continue
            shorter = await asyncio.to_thread(condensed, record.text)
            if shorter is None:
                continue
            log.add(record, "long", shorter)
            if not garden.dry:
                with unless_gone():
                    await garden.memory.condense(garden.user, record.id, shorter, was=record.text)
            if log.count >= MOST:
                return told([log])
    return told([log])


def condensed(text: str) -> str | None:
    """`text` in fewer words, every figure of it kept; None where that does not make it shorter."""
    shorter = shorten(text, SHORT)
    if lost := [figure for figure in figures(text) if figure not in figures(shorter)]:
        shorter = f"{shorter} ({', '.join(lost)})"
    return shorter if len(shorter.split()) < len(text.split()) else None


def _long(record: MemoryRecord) -> bool:
    plain = record.type == "text" and isinstance(record.content, str) and not record.pinned
    return plain and len(record.text.split()) > LONG
