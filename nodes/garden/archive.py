"""Archives faded, expired and unused memories; priorities follow use (HM-7, LM-11, LM-12)."""

from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.rules.decay import archive_reason, priority_by_use
from thoughtcycle.nodes.garden.run import GardenRun, Log, garden_update
from thoughtcycle.nodes.garden.state import GardenUpdate


async def archive(garden: GardenRun) -> GardenUpdate:
    """Works page by page, so that it takes no more memory than a page; pinned memories stay."""
    archived, moved = Log("archive"), Log("prioritise")
    async for page in garden.memory.upkeep.pages(garden.user):
        await _archive_page(garden, page, archived, moved)
    return garden_update([archived, moved])


async def _archive_page(garden: GardenRun, page: list[MemoryRecord], archived: Log, moved: Log) -> None:
    memory, user, now = garden.memory, garden.user, garden.now
    used = await memory.accesses(user, [record.id for record in page])
    ids: list[str] = []
    priorities: dict[str, float] = {}
    for record in page:
        access = used.get(record.id)
        if why := archive_reason(record, access, now):
            archived.add(record, why)
            ids.append(record.id)
        elif (priority := priority_by_use(record, access, now)) is not None:
            moved.add(record, "used" if priority > record.priority else "idle", str(priority))
            priorities[record.id] = priority
    if priorities and not garden.dry:
        await memory.upkeep.prioritise(user, priorities, seen=page)
    if ids and not garden.dry:
        await memory.upkeep.archive_all(
            user, ids, lambda record: archive_reason(record, used.get(record.id), now) is not None, seen=page
        )
