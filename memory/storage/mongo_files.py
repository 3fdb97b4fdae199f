"""Files in MongoDB, in parts that fit a document: plain functions of a database."""

from collections.abc import Collection, Mapping

from thoughtcycle.memory.media import key_of
from thoughtcycle.memory.storage.mongo_client import Database
from thoughtcycle.memory.storage.mongo_commit import MEMORIES
from thoughtcycle.memory.storage.mongo_documents import escaped
from thoughtcycle.memory.storage.mongo_epochs import epoch
from thoughtcycle.memory.storage.mongo_ledger import insert_new
from thoughtcycle.prompts.errors import NotAllowed

PART = 4_000_000
"""Bytes of one part; a document of MongoDB holds 16 MB."""


async def put(db: Database, user: str, sha256: str, data: bytes) -> None:
    """See FileStorage.put_file. The first part is written last: where it is, the file is whole.

    What comes while the user is forgotten is taken back.
    """
    began = await epoch(db, user)
    for start in reversed(range(0, len(data), PART)):
        part = {
            "_id": escaped("\x1f".join((user, sha256, str(start)))),
            "user_id": escaped(user),
            "hash": sha256,
            "start": start,
            "size": len(data),
            "data": data[start : start + PART],
        }
        await insert_new(db.files, [part])
    if await epoch(db, user) != began:
        await db.files.delete_many({"user_id": escaped(user), "hash": sha256})
        raise NotAllowed("user_forgotten")


async def get(db: Database, user: str, sha256: str) -> bytes | None:
    """See FileStorage.file."""
    found = db.files.find({"user_id": escaped(user), "hash": sha256}).sort("start", 1)
    parts = [(one["start"], one["size"], one["data"]) async for one in found]
    if not parts or parts[0][0] != 0:
        return None
    data = b"".join(part for _, _, part in parts)
    return data if len(data) == parts[0][1] else None


async def listing(db: Database, user: str) -> Mapping[str, int]:
    """See FileStorage.files."""
    first = db.files.find({"user_id": escaped(user), "start": 0}, {"hash": 1, "size": 1})
    return {one["hash"]: one["size"] async for one in first}


async def drop(db: Database, user: str, sha256: str, without: Collection[str]) -> bool:
    """See FileStorage.drop_file."""
    await MEMORIES.settled(db, user)
    query = {"memoriesId": escaped(user), "key": escaped(key_of(sha256)), "status": {"$ne": "erased"}}
    names = {one["_id"] async for one in db.memories.find(query, {"_id": 1})}
    if names - set(map(escaped, without)):
        return False
    done = await db.files.delete_many({"user_id": escaped(user), "hash": sha256})
    return bool(done.deleted_count)
