"""Checks, counts and repairs in MongoDB: plain functions of a database."""

from collections import Counter

import bson
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

from thoughtcycle.memory.records import utc_now
from thoughtcycle.memory.storage.health import Census, CycleState
from thoughtcycle.memory.storage.mongo_client import Database
from thoughtcycle.memory.storage.mongo_commit import MEMORIES, PROVISIONAL
from thoughtcycle.memory.storage.mongo_documents import escaped, unescaped
from thoughtcycle.memory.storage.mongo_files import listing
from thoughtcycle.memory.storage.mongo_transcript import TRANSCRIPTS, claim

_OWNERS = {
    "memories": "memoriesId",
    "vectors": "memoriesId",
    "journal": "space",
    "conversations": "user_id",
    "cycles": "user_id",
    "message_vectors": "user_id",
    "sheets": "user_id",
}
"""Collection → the field that names the user."""


async def integrity(db: Database) -> list[str]:
    """See Health.integrity."""
    lines = [f"{len(ids)} × {name} → {owner}" for (name, owner), ids in (await _strays(db)).items() if ids]
    left = 0
    async for space in db.spaces.find({}, {"number": 1}):
        number = await MEMORIES.settled(db, unescaped(space["_id"]))
        last = await db.journal.find_one({"space": space["_id"]}, {"number": 1}, sort=[("number", -1)])
        if last is not None and last["number"] > number:
            lines.append(f"spaces {number} < journal {last['number']}")
        key = {"memoriesId": space["_id"], "status": PROVISIONAL, "revision": {"$lte": number}}
        left += await db.memories.count_documents(key)
    return [*lines, f"{left} × memories: {PROVISIONAL}"] if left else lines


async def mend(db: Database) -> None:
    """See Health.mend."""
    for (name, _), ids in (await _strays(db)).items():
        for id in ids:
            await db[name].delete_one({"_id": id})


async def _strays(db: Database) -> dict[tuple[str, str], list[str]]:
    """Ids of what refers to nothing; read before what it refers to, which is never deleted alone."""
    found = {}
    for name, field, owner in (("message_vectors", "cycle", "cycles"), ("accesses", "_id", "memories")):
        rows = [(one["_id"], one[field]) async for one in db[name].find({}, {field: 1})]
        there = {one["_id"] async for one in db[owner].find({}, {"_id": 1})}
        found[name, owner] = [id for id, refers in rows if refers not in there]
    return found


async def users(db: Database) -> list[str]:
    """See Health.users."""
    found: set[str] = set()
    for collection, field in {**_OWNERS, "files": "user_id", "channel_links": "user_id"}.items():
        found.update(map(unescaped, await db[collection].distinct(field)))
    return sorted(found)


async def census(db: Database, user: str) -> Census:
    """See Health.census."""
    await MEMORIES.settled(db, user)
    await TRANSCRIPTS.settled(db, user)
    shown = {"status": 1, "kind": 1}
    query = {"memoriesId": escaped(user), "status": {"$ne": PROVISIONAL}}
    kinds = Counter([(one["status"], one["kind"]) async for one in db.memories.find(query, shown)])
    kept = {"user_id": escaped(user), "document": {"$ne": None}}
    sizes: dict[str, list[int]] = {}
    options = bson.CodecOptions(document_class=RawBSONDocument)
    for collection, field in _OWNERS.items():
        raw = db.get_collection(collection).with_options(codec_options=options)
        sizes[collection] = [len(one.raw) async for one in raw.find({field: escaped(user)})]
    return Census(
        memories=dict(kinds),
        chats=len(sizes["conversations"]),
        cycles=len(sizes["cycles"]),
        changes=len(sizes["journal"]),
        sheets=Counter([one["kind"] async for one in db.sheets.find(kept, {"kind": 1})]),
        pending=await db.cycles.count_documents({"user_id": escaped(user), "formation": "pending"}),
        bytes=sum(map(sum, sizes.values())) + sum((await listing(db, user)).values()),
        database_bytes=await _database_bytes(db),
    )


async def _database_bytes(db: Database) -> int | None:
    try:
        told = await db.command("dbStats")
    except OperationFailure:
        return None
    size = told.get("totalSize", told.get("storageSize"))
    return None if size is None else int(size)


async def cycle_states(db: Database, user: str) -> list[CycleState]:
    """See Health.cycle_states."""
    await TRANSCRIPTS.settled(db, user)
    shown = {"chat_id": 1, "open": 1, "number": 1}
    return [
        CycleState(unescaped(one["_id"]), unescaped(one["chat_id"]), one["open"], one["number"])
        async for one in db.cycles.find({"user_id": escaped(user)}, shown)
    ]


async def stray_vectors(db: Database, space: str) -> list[str]:
    """See Health.stray_vectors."""
    await MEMORIES.settled(db, space)
    listed = await _listed(db, space)
    found = db.vectors.find({"memoriesId": escaped(space)}, {"nosqlId": 1})
    return sorted(
        [unescaped(one["_id"]) async for one in found if one["_id"] not in listed.get(one["nosqlId"], ())]
    )


async def _listed(db: Database, space: str) -> dict[str, list[str]]:
    found = db.memories.find({"memoriesId": escaped(space)}, {"vectorIds": 1})
    return {one["_id"]: one["vectorIds"] async for one in found}


async def mend_vectors(db: Database, space: str) -> None:
    """See Health.mend_vectors."""
    for id in await stray_vectors(db, space):
        await db.vectors.delete_one({"_id": escaped(id), "memoriesId": escaped(space)})
    there = {one["_id"] async for one in db.vectors.find({"memoriesId": escaped(space)}, {"_id": 1})}
    for memory, vectors in (await _listed(db, space)).items():
        kept = [id for id in vectors if id in there]
        if kept != vectors:
            key = {"_id": memory, "memoriesId": escaped(space)}
            await db.memories.update_one(key, {"$set": {"vectorIds": kept}})


async def mend_chat(db: Database, user: str, chat: str, tip: str | None) -> None:
    """See Health.mend_chat."""
    await claim(db, chat, user, utc_now())
    key = {"chat_id": escaped(chat), "user_id": escaped(user)}
    await db.conversations.update_one(key, {"$set": {"tip": escaped(tip)}})
