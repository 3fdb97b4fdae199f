"""What erasing asks of MongoDB: whole families of memories, and tombstones."""

from collections.abc import Collection, Mapping, Sequence

from pymongo import UpdateOne
from pymongo.errors import DuplicateKeyError

from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.memory.storage.documents import LEFT_OUT
from thoughtcycle.memory.storage.mongo_client import Database, Document
from thoughtcycle.memory.storage.mongo_commit import MEMORIES
from thoughtcycle.memory.storage.mongo_documents import escaped, memory_record, plain_document, unescaped
from thoughtcycle.memory.storage.mongo_ledger import insert_new
from thoughtcycle.memory.storage.mongo_memories import documents, known
from thoughtcycle.memory.tombstones import Tombstone


async def family(db: Database, space: str, ids: Collection[str]) -> list[MemoryRecord]:
    """See Storage.family."""
    await MEMORIES.settled(db, space)
    found = await documents(db, space, "_id", ids)
    return known([*found, *await documents(db, space, "current", ids)])


async def hidden(db: Database, space: str | None) -> list[MemoryRecord]:
    """See Storage.hidden."""
    query: Document = {"status": "hidden", "reason": {"$nin": list(LEFT_OUT)}}
    if space is None:
        return [memory_record(document) async for document in db.memories.find(query)]
    await MEMORIES.settled(db, space)
    found = db.memories.find({"memoriesId": escaped(space), **query}).sort("revision", -1)
    return [memory_record(document) async for document in found]


async def secret(db: Database, user: str, fresh: bytes) -> bytes:
    """See Storage.secret. The primary key decides a race."""
    found = await db.erasure_keys.find_one({"_id": escaped(user)})
    if found is None:
        try:
            await db.erasure_keys.insert_one({"_id": escaped(user), "secret": fresh})
        except DuplicateKeyError:
            return await secret(db, user, fresh)
        return fresh
    return bytes(found["secret"])


async def bury(db: Database, user: str, tombstones: Sequence[Tombstone]) -> None:
    """See Storage.bury."""
    rows = [
        {
            "_id": escaped("\x1f".join((user, one.memory))),
            "user_id": escaped(user),
            "document": escaped(one.model_dump_json()),
        }
        for one in tombstones
    ]
    await insert_new(db.tombstones, rows)


async def rewrite_journal(db: Database, space: str, befores: Mapping[int, MemoryRecord]) -> None:
    """See Storage.rewrite_journal."""
    updates = [
        UpdateOne(
            {"space": escaped(space), "number": number, "before": {"$ne": None}},
            {"$set": {"before": escaped(plain_document(record))}},
        )
        for number, record in befores.items()
    ]
    await db.journal.bulk_write(updates, ordered=False)


async def tombstones(db: Database, user: str) -> list[Tombstone]:
    """See Storage.tombstones."""
    found = await db.tombstones.find({"user_id": escaped(user)}).sort("_id", 1).to_list()
    return [Tombstone.model_validate_json(unescaped(one["document"])) for one in found]
