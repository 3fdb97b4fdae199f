"""Files in MongoDB, in parts that fit a document."""

from collections.abc import Collection, Mapping

from thoughtcycle.memory.model import key_of
from thoughtcycle.memory.storage.base.files import Files
from thoughtcycle.memory.storage.mongo.client import Database
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing
from thoughtcycle.memory.storage.mongo.ledger import insert_new
from thoughtcycle.memory.storage.mongo.memory_commit import MEMORIES

PART = 4_000_000
"""Bytes of one part; a document of MongoDB holds 16 MB."""


class MongoFiles(Files, Repository):
    @writing
    async def put(self, db: Database, user: str, sha256: str, data: bytes) -> None:
        """The first part is written last: where it is, the file is whole."""
        names = {"user_id": user, "hash": sha256}
        async with self._database.same_epoch(user, lambda: db.files.delete_many(names)):
            for start in reversed(range(0, len(data), PART)):
                id, part = "\x1f".join((user, sha256, str(start))), data[start : start + PART]
                fields = {"_id": id, **names, "start": start, "size": len(data), "data": part}
                await insert_new(db.files, [fields])

    @reading
    async def get(self, db: Database, user: str, sha256: str) -> bytes | None:
        found = db.files.find({"user_id": user, "hash": sha256}).sort("start", 1)
        parts = [(one["start"], one["size"], one["data"]) async for one in found]
        if not parts or parts[0][0] != 0:
            return None
        data = b"".join(part for _, _, part in parts)
        return data if len(data) == parts[0][1] else None

    @reading
    async def listing(self, db: Database, user: str) -> Mapping[str, int]:
        first = db.files.find({"user_id": user, "start": 0}, {"hash": 1, "size": 1})
        return {one["hash"]: one["size"] async for one in first}

    @writing
    async def drop(self, db: Database, user: str, sha256: str, *, without: Collection[str] = ()) -> bool:
        await MEMORIES.recover(db, user)
        query = {"memoriesId": user, "key": key_of(sha256), "status": {"$ne": "erased"}}
        names = {one["_id"] async for one in db.memories.find(query, {"_id": 1})}
        if names - set(without):
            return False
        done = await db.files.delete_many({"user_id": user, "hash": sha256})
        return bool(done.deleted_count)
