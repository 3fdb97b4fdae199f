"""Forgetting a user in MongoDB: plain functions of a database."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime

from thoughtcycle.memory.storage.forgetting import hashed
from thoughtcycle.memory.storage.mongo_client import Database
from thoughtcycle.memory.storage.mongo_commit import MEMORIES, sweep_memories
from thoughtcycle.memory.storage.mongo_documents import escaped
from thoughtcycle.memory.storage.mongo_ledger import Ledger, find_in
from thoughtcycle.memory.storage.mongo_transcript import TRANSCRIPTS, sweep_cycles

OWNED = {
    "accesses": "memoriesId",
    "memories": "memoriesId",
    "vectors": "memoriesId",
    "journal": "space",
    "cycles": "user_id",
    "message_vectors": "user_id",
    "conversations": "user_id",
    "jobs": "user_id",
    "sheets": "user_id",
    "tombstones": "user_id",
    "erasure_keys": "_id",
    "files": "user_id",
    "channel_links": "user_id",
    "link_codes": "user_id",
    "spaces": "_id",
    "transcripts": "_id",
}
"""Collection → the field that names the user."""
_AT_ONCE = OWNED.keys() - {
    *("memories", "vectors", "journal", "cycles", "message_vectors"),
    *("spaces", "transcripts"),
}
"""What no commit may bring back."""
_IDS = ("_id", "chat_id", "parent", "tip", "cycle", "memory", "current", "nosqlId", "thread_id")


async def forget(db: Database, user: str, at: datetime) -> Mapping[str, int]:
    """See Forgetting.forget.

    First the epoch is over and the numbers go on behind the last ones, then the documents that decide
    commits go, then all that was ever committed; who carries out a commit later takes it back.
    """
    counts: Counter[str] = Counter()
    for collection, field in OWNED.items():
        counts[collection] = await db[collection].count_documents({field: escaped(user)})
    over = {"$inc": {"epoch": 1}, "$set": {"at": at.isoformat()}}
    await db.forgotten.update_one(
        {"_id": hashed(user)}, {**over, "$max": {"spaces": 0, "transcripts": 0}}, upsert=True
    )
    ends = [await _ended(db, ledger, user) for ledger in (MEMORIES, TRANSCRIPTS)]
    await sweep_memories(db, escaped(user), ends[0])
    await sweep_cycles(db, escaped(user), ends[1])
    for collection in _AT_ONCE:
        await db[collection].delete_many({OWNED[collection]: escaped(user)})
    return {collection: count for collection, count in counts.items() if count}


async def _ended(db: Database, ledger: Ledger, user: str) -> int:
    """Removes the document of the user's commits; the number from which new ones go on."""
    while True:
        number = await ledger.settled(db, user)
        base = {"$max": {ledger.collection: number + 1}}
        await db.forgotten.update_one({"_id": hashed(user)}, base)
        await db[ledger.collection].delete_one({"_id": escaped(user), "number": number, "busy": False})
        if await db[ledger.collection].find_one({"_id": escaped(user)}, {"_id": 1}) is None:
            return number + 1


async def traces(db: Database, user: str, ids: Collection[str]) -> Mapping[str, int]:
    """See Forgetting.traces."""
    found: Counter[str] = Counter()
    for name in await db.list_collection_names():
        if name.startswith("system.") or name in ("forgotten", "schema_versions"):
            continue
        owner = OWNED.get(name)
        found[name] += await db[name].count_documents({"owner": user})
        if owner is not None:
            found[name] += await db[name].count_documents({owner: escaped(user)})
        for field in _IDS if ids else ():
            wanted = [escaped(id) for id in ids]
            found[name] += len([1 async for _ in find_in(db[name], {}, field, wanted, {"_id": 1})])
    return {name: count for name, count in found.items() if count}
