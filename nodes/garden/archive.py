"""Decay: what has faded, expired or lies unused is archived; priorities follow use (HM-7, LM-11, LM-12)."""

from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.rules import archive_reason, priority_by_use
from thoughtcycle.nodes.garden.run import GardenRun, Log, garden_update
from thoughtcycle.nodes.garden.state import GardenUpdate


async def archive(garden: GardenRun) -> GardenUpdate:
    """Archives page by page, so that it takes no more memory than a page; nothing that is pinned moves."""
    aside, moved = Log("archive"), Log("prioritise")
    async for page in garden.memory.upkeep.pages(garden.user):
        await _tend(garden, page, aside, moved)
    return garden_update([aside, moved])


async def _tend(garden: GardenRun, page: list[MemoryRecord], aside: Log, moved: Log) -> None:
    memory, user, now = garden.memory, garden.user, garden.now
    used = await memory.accesses(user, [record.id for record in page])
    gone: list[str] = []
    priorities: dict[str, float] = {}
    for record in page:
        access = used.get(record.id)
        if why := archive_reason(record, access, now):
            aside.add(record, why)
            gone.append(record.id)
        elif (priority := priority_by_use(record, access, now)) is not None:
            moved.add(record, "used" if priority > record.priority else "idle", str(priority))
            priorities[record.id] = priority
    if garden.dry:
        return
    if priorities:
        await memory.upkeep.prioritise(user, priorities, seen=page)
    if gone:
        await memory.upkeep.archive_all(
            user, gone, lambda record: archive_reason(record, used.get(record.id), now) is not None, seen=page
        )
