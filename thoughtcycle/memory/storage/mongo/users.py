"""Users in MongoDB."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import bson
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

from thoughtcycle.memory.storage.base.users import Census, Pulse, Users
from thoughtcycle.memory.storage.epochs import hashed
from thoughtcycle.memory.storage.mongo.client import Database
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing
from thoughtcycle.memory.storage.mongo.ledger import Ledger, find_in, forgotten
from thoughtcycle.memory.storage.mongo.memory_commit import MEMORIES, PROVISIONAL, sweep_memories
from thoughtcycle.memory.storage.mongo.serialization import journal_record
from thoughtcycle.memory.storage.mongo.transcript_commit import TRANSCRIPTS, sweep_cycles

OWNED = {
    **dict.fromkeys(("accesses", "memories", "vectors"), "memoriesId"),
    "journal": "space",
    **dict.fromkeys(("cycles", "message_vectors", "conversations", "documents", "settings"), "user_id"),
    **dict.fromkeys(("jobs", "tombstones", "files", "channel_links", "link_codes"), "user_id"),
    **dict.fromkeys(("erasure_keys", "spaces", "transcripts"), "_id"),
}
"""Collection → the field that names the user."""
_COMMITTED = ("memories", "vectors", "journal", "cycles", "message_vectors")
"""Collections that commits write."""
_COUNTED = (*_COMMITTED, "conversations", "documents", "settings")
"""Collections that count as a user's own documents."""
_NOT_COMMITTED = OWNED.keys() - {*_COMMITTED, "spaces", "transcripts"}
"""Collections into which no commit may bring anything back."""
_IDS = ("_id", "chat_id", "parent", "tip", "cycle", "memory", "current", "nosqlId", "thread_id")


class MongoUsers(Users, Repository):
    @reading
    async def listing(self, db: Database) -> list[str]:
        found: set[str] = set()
        for collection in (*_COUNTED, "files", "channel_links"):
            found.update(await db[collection].distinct(OWNED[collection]))
        return sorted(found)

    @reading
    async def census(self, db: Database, user: str) -> Census:
        await MEMORIES.recover(db, user)
        await TRANSCRIPTS.recover(db, user)
        shown = {"status": 1, "kind": 1}
        query = {"memoriesId": user, "status": {"$ne": PROVISIONAL}}
        kinds = Counter([(one["status"], one["kind"]) async for one in db.memories.find(query, shown)])
        stored = {"user_id": user, "document": {"$ne": None}}
        sheets = Counter([one["kind"] async for one in db.documents.find(stored, {"kind": 1})])
        sheets["settings"] = await db.settings.count_documents({"_id": user})
        sizes: dict[str, list[int]] = {}
        options = bson.CodecOptions(document_class=RawBSONDocument)
        for collection in _COUNTED:
            raw = db.get_collection(collection).with_options(codec_options=options)
            sizes[collection] = [len(one.raw) async for one in raw.find({OWNED[collection]: user})]
        files = [one["size"] async for one in db.files.find({"user_id": user, "start": 0}, {"size": 1})]
        return Census(
            memories=dict(kinds),
            chats=len(sizes["conversations"]),
            cycles=len(sizes["cycles"]),
            changes=len(sizes["journal"]),
            sheets={kind: count for kind, count in sheets.items() if count},
            pending=await db.cycles.count_documents({"user_id": user, "formation": "pending"}),
            bytes=sum(map(sum, sizes.values())) + sum(files),
            database_bytes=await _database_bytes(db),
        )

    @reading
    async def epoch(self, db: Database, user: str) -> int:
        return (await forgotten(db, user)).epoch

    @reading
    async def forgotten(self, db: Database, user: str) -> datetime | None:
        return (await forgotten(db, user)).at

    @reading
    async def pulse(self, db: Database, user: str) -> Pulse:
        await MEMORIES.recover(db, user)
        rows = db.journal.find({"space": user}).sort("number", -1).limit(1)
        last = [journal_record(row) async for row in rows]
        at = (await forgotten(db, user)).at
        return Pulse(tuple((row.number, row.at, row.memory) for row in last), at)

    @writing
    async def forget(self, db: Database, user: str, at: datetime) -> Mapping[str, int]:
        """Ends the epoch, removes the ledgers, then all that was ever committed.

        The numbers go on behind the last ones; a process that carries out an old commit later takes it back.
        """
        counts: Counter[str] = Counter()
        for collection, field in OWNED.items():
            counts[collection] = await db[collection].count_documents({field: user})
        over = {"$inc": {"epoch": 1}, "$set": {"at": at.isoformat()}}
        await db.forgotten.update_one(
            {"_id": hashed(user)}, {**over, "$max": {"spaces": 0, "transcripts": 0}}, upsert=True
        )
        ends = [await _end_ledger(db, ledger, user) for ledger in (MEMORIES, TRANSCRIPTS)]
        await sweep_memories(db, user, ends[0])
        await sweep_cycles(db, user, ends[1])
        for collection in _NOT_COMMITTED:
            await db[collection].delete_many({OWNED[collection]: user})
        self._database.epochs.begin(user, (await forgotten(db, user)).epoch)
        return {collection: count for collection, count in counts.items() if count}

    @reading
    async def traces(self, db: Database, user: str, ids: Collection[str]) -> Mapping[str, int]:
        found: Counter[str] = Counter()
        for name in await db.list_collection_names():
            if name.startswith("system.") or name in ("forgotten", "schema_versions"):
                continue
            for owner in {"owner", OWNED.get(name, "owner")}:
                found[name] += await db[name].count_documents({owner: user})
            for field in _IDS if ids else ():
                found[name] += len([1 async for _ in find_in(db[name], {}, field, ids, {"_id": 1})])
        return {name: count for name, count in found.items() if count}

    @reading
    async def strangers(
        self, db: Database, user: str, *, chats: Sequence[str], cycles: Sequence[str], memories: Sequence[str]
    ) -> bool:
        places = (
            (db.conversations, "user_id", "chat_id", chats),
            (db.cycles, "user_id", "_id", cycles),
            (db.memories, "memoriesId", "_id", memories),
        )
        for collection, owner, field, ids in places:
            async for _ in find_in(collection, {owner: {"$ne": user}}, field, ids, {"_id": 1}):
                return True
        return False


async def _database_bytes(db: Database) -> int | None:
    try:
        stats = await db.command("dbStats")
    except OperationFailure:
        return None
    size = stats.get("totalSize", stats.get("storageSize"))
    return None if size is None else int(size)


async def _end_ledger(db: Database, ledger: Ledger, user: str) -> int:
    """Removes the user's document of a ledger; the number from which new commits go on."""
    while True:
        number = await ledger.recover(db, user)
        base = {"$max": {ledger.collection: number + 1}}
        await db.forgotten.update_one({"_id": hashed(user)}, base)
        await db[ledger.collection].delete_one({"_id": user, "number": number, "busy": False})
        if await db[ledger.collection].find_one({"_id": user}, {"_id": 1}) is None:
            return number + 1
