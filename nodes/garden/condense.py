"""Progressive summarisation: shortens memories that are old, long and not used (LM-11)."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from thoughtcycle.errors import MemoryNotActive, MemoryUnknown
from thoughtcycle.language.facts import shorten
from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.rules.decay import last_use
from thoughtcycle.memory.rules.preserved_data import figures
from thoughtcycle.nodes.garden.run import GardenRun, Log, garden_update
from thoughtcycle.nodes.garden.state import GardenUpdate

OLD = timedelta(days=90)
LONG, SHORT = 60, 40
"""Words above which a memory is long, and words of the shorter text."""
MOST = 200
"""Memories condensed in one run; the next run continues."""


async def condense(garden: GardenRun) -> GardenUpdate:
    """Shortens plain text; numbers, dates, names and negations stay, the journal keeps the full text."""
    log = Log("condense")
    async for page in garden.memory.upkeep.pages(garden.user):
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
                with suppress(MemoryNotActive, MemoryUnknown):  # changed since it was read
                    await garden.memory.upkeep.condense(garden.user, record.id, shorter, was=record.text)
            if log.count >= MOST:
                return garden_update([log])
    return garden_update([log])


def condensed(text: str) -> str | None:
    """`text` in fewer words, with all of its figures; None where that is not shorter."""
    shorter = shorten(text, SHORT)
    if lost := [figure for figure in figures(text) if figure not in figures(shorter)]:
        shorter = f"{shorter} ({', '.join(lost)})"
    return shorter if len(shorter.split()) < len(text.split()) else None


def _long(record: MemoryRecord) -> bool:
    plain = record.type == "text" and isinstance(record.content, str) and not record.pinned
    return plain and len(record.text.split()) > LONG
