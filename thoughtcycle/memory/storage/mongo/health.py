"""Checks and repairs in MongoDB."""

from thoughtcycle.memory.storage.base.health import CycleState, Health
from thoughtcycle.memory.storage.mongo.client import Database
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing
from thoughtcycle.memory.storage.mongo.memory_commit import MEMORIES, PROVISIONAL
from thoughtcycle.memory.storage.mongo.transcript_commit import TRANSCRIPTS


class MongoHealth(Health, Repository):
    @reading
    async def integrity(self, db: Database) -> list[str]:
        lines = [
            f"{len(ids)} × {name} → {owner}" for (name, owner), ids in (await _strays(db)).items() if ids
        ]
        left = 0
        async for space in db.spaces.find({}, {"number": 1}):
            number = await MEMORIES.recover(db, space["_id"])
            last = await db.journal.find_one({"space": space["_id"]}, {"number": 1}, sort=[("number", -1)])
            if last is not None and last["number"] > number:
                lines.append(f"spaces {number} < journal {last['number']}")
            key = {"memoriesId": space["_id"], "status": PROVISIONAL, "revision": {"$lte": number}}
            left += await db.memories.count_documents(key)
        return [*lines, f"{left} × memories: {PROVISIONAL}"] if left else lines

    @writing
    async def mend(self, db: Database) -> None:
        for (name, _), ids in (await _strays(db)).items():
            for id in ids:
                await db[name].delete_one({"_id": id})

    @reading
    async def cycle_states(self, db: Database, user: str) -> list[CycleState]:
        await TRANSCRIPTS.recover(db, user)
        shown = {"chat_id": 1, "open": 1, "number": 1}
        return [
            CycleState(one["_id"], one["chat_id"], one["open"], one["number"])
            async for one in db.cycles.find({"user_id": user}, shown)
        ]

    @reading
    async def stray_vectors(self, db: Database, space: str) -> list[str]:
        await MEMORIES.recover(db, space)
        listed = await _listed(db, space)
        found = db.vectors.find({"memoriesId": space}, {"nosqlId": 1})
        return sorted([one["_id"] async for one in found if one["_id"] not in listed.get(one["nosqlId"], ())])

    @writing
    async def mend_vectors(self, db: Database, space: str) -> None:
        for id in await self.stray_vectors(space):
            await db.vectors.delete_one({"_id": id, "memoriesId": space})
        there = {one["_id"] async for one in db.vectors.find({"memoriesId": space}, {"_id": 1})}
        for memory, vectors in (await _listed(db, space)).items():
            kept = [id for id in vectors if id in there]
            if kept != vectors:
                key = {"_id": memory, "memoriesId": space}
                await db.memories.update_one(key, {"$set": {"vectorIds": kept}})


async def _strays(db: Database) -> dict[tuple[str, str], list[str]]:
    """Ids of what refers to nothing; read before what it refers to, which is never deleted alone."""
    found = {}
    for name, field, owner in (("message_vectors", "cycle", "cycles"), ("accesses", "_id", "memories")):
        rows = [(one["_id"], one[field]) async for one in db[name].find({}, {field: 1})]
        there = {one["_id"] async for one in db[owner].find({}, {"_id": 1})}
        found[name, owner] = [id for id, refers in rows if refers not in there]
    return found


async def _listed(db: Database, space: str) -> dict[str, list[str]]:
    found = db.memories.find({"memoriesId": space}, {"vectorIds": 1})
    return {one["_id"]: one["vectorIds"] async for one in found}
