"""What models' servers were found to refuse, in MongoDB."""

from datetime import datetime

from thoughtcycle.memory.storage.base.learned import Learned
from thoughtcycle.memory.storage.mongo.client import Database
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing


class MongoLearned(Learned, Repository):
    @writing
    async def put(self, db: Database, name: str, now: datetime, until: datetime) -> None:
        await db.learned.delete_many({"until": {"$lte": now.timestamp()}})
        row = {"_id": name, "until": until.timestamp()}
        await db.learned.replace_one({"_id": name}, row, upsert=True)

    @reading
    async def names(self, db: Database, now: datetime) -> dict[str, datetime]:
        found = db.learned.find({"until": {"$gt": now.timestamp()}})
        return {one["_id"]: datetime.fromtimestamp(one["until"], now.tzinfo) async for one in found}
