"""Families of memories, and tombstones, in MongoDB."""

from collections.abc import Collection, Mapping, Sequence

from pymongo import UpdateOne
from pymongo.errors import DuplicateKeyError

from thoughtcycle.memory.model import MemoryRecord, Tombstone
from thoughtcycle.memory.storage.base.erasure import Erasure
from thoughtcycle.memory.storage.mongo.client import Database, Document
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing
from thoughtcycle.memory.storage.mongo.ledger import insert_new
from thoughtcycle.memory.storage.mongo.memories import documents, records_of
from thoughtcycle.memory.storage.mongo.memory_commit import MEMORIES
from thoughtcycle.memory.storage.mongo.serialization import memory_record, plain_document
from thoughtcycle.memory.storage.serialization import NOT_DELETED


class MongoErasure(Erasure, Repository):
    @reading
    async def family(self, db: Database, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        await MEMORIES.recover(db, space)
        found = await documents(db, space, "_id", ids)
        return records_of([*found, *await documents(db, space, "current", ids)])

    @reading
    async def hidden(self, db: Database, space: str | None = None) -> list[MemoryRecord]:
        query: Document = {"status": "hidden", "reason": {"$nin": list(NOT_DELETED)}}
        if space is None:
            return [memory_record(document) async for document in db.memories.find(query)]
        await MEMORIES.recover(db, space)
        found = db.memories.find({"memoriesId": space, **query}).sort("revision", -1)
        return [memory_record(document) async for document in found]

    @writing
    async def secret(self, db: Database, user: str, fresh: bytes) -> bytes:
        """The primary key decides a race."""
        found = await db.erasure_keys.find_one({"_id": user})
        if found is None:
            try:
                await db.erasure_keys.insert_one({"_id": user, "secret": fresh})
            except DuplicateKeyError:
                return await self.secret(user, fresh)
            return fresh
        return bytes(found["secret"])

    @writing
    async def bury(self, db: Database, user: str, tombstones: Sequence[Tombstone]) -> None:
        ids = {"\x1f".join((user, one.memory)): one.model_dump_json() for one in tombstones}
        rows = [{"_id": id, "user_id": user, "document": document} for id, document in ids.items()]
        await insert_new(db.tombstones, rows)

    @writing
    async def rewrite_journal(self, db: Database, space: str, befores: Mapping[int, MemoryRecord]) -> None:
        updates = [
            UpdateOne(
                {"space": space, "number": number, "before": {"$ne": None}},
                {"$set": {"before": plain_document(record)}},
            )
            for number, record in befores.items()
        ]
        await db.journal.bulk_write(updates, ordered=False)

    @reading
    async def tombstones(self, db: Database, user: str) -> list[Tombstone]:
        found = await db.tombstones.find({"user_id": user}).sort("_id", 1).to_list()
        return [Tombstone.model_validate_json(one["document"]) for one in found]

    async def scrub(self) -> None:
        """The server's files are the server's."""
