"""When and how often a user was forgotten, as MongoDB keeps it; who comes too late is refused."""

from datetime import datetime

from thoughtcycle.memory.storage.forgetting import Pulse, hashed
from thoughtcycle.memory.storage.mongo_client import Database
from thoughtcycle.memory.storage.mongo_memories import journal
from thoughtcycle.prompts.errors import NotAllowed


async def epoch(db: Database, user: str) -> int:
    """See Forgetting.epoch."""
    found = await db.forgotten.find_one({"_id": hashed(user)}, {"epoch": 1})
    return int(found["epoch"]) if found is not None else 0


async def forgotten(db: Database, user: str) -> datetime | None:
    """See Forgetting.forgotten."""
    found = await db.forgotten.find_one({"_id": hashed(user)}, {"at": 1})
    return datetime.fromisoformat(found["at"]) if found is not None and found.get("at") else None


async def pulse(db: Database, user: str) -> Pulse:
    """See Forgetting.pulse."""
    rows = await journal(db, user, None, None, 1)
    return Pulse(tuple((row.number, row.at, row.memory) for row in rows), await forgotten(db, user))


async def refuse_late(db: Database, user: str, at: datetime) -> None:
    """Raises NotAllowed('user_forgotten') when the user was forgotten at `at` or later."""
    last = await forgotten(db, user)
    if last is not None and at <= last:
        raise NotAllowed("user_forgotten")


async def present(db: Database, user: str, at: datetime) -> int:
    """The user's epoch, to which what begins at `at` belongs; NotAllowed as `refuse_late`."""
    found = await db.forgotten.find_one({"_id": hashed(user)}, {"epoch": 1, "at": 1})
    if found is None:
        return 0
    if found.get("at") and at <= datetime.fromisoformat(found["at"]):
        raise NotAllowed("user_forgotten")
    return int(found["epoch"])
