"""What MongoDB keeps of a user who was forgotten."""

from datetime import datetime

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.storage.epochs import Forgotten, hashed
from thoughtcycle.memory.storage.mongo.client import Database


async def forgotten(db: Database, user: str) -> Forgotten:
    """What is left of the user, if they were forgotten."""
    found = await db.forgotten.find_one({"_id": hashed(user)})
    if found is None:
        return Forgotten()
    at = datetime.fromisoformat(found["at"]) if found.get("at") else None
    return Forgotten(int(found["epoch"]), int(found.get("spaces", 0)), int(found.get("transcripts", 0)), at)


async def refuse_late(db: Database, user: str, at: datetime) -> int:
    """The user's epoch; raises NotAllowed('user_forgotten') when they were forgotten at `at` or later."""
    left = await forgotten(db, user)
    if left.at is not None and at <= left.at:
        raise NotAllowed("user_forgotten")
    return left.epoch
