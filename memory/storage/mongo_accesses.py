"""Access counts in MongoDB, beside documents and journal: plain functions of a database."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from pymongo import UpdateOne

from thoughtcycle.memory.records import Access
from thoughtcycle.memory.storage.mongo_client import Database
from thoughtcycle.memory.storage.mongo_documents import escaped, unescaped
from thoughtcycle.memory.storage.mongo_ledger import find_in, insert_new


async def touch(db: Database, space: str, counts: Mapping[str, Access], at_least: bool) -> None:
    """See Storage.touch. A count is begun at zero, so that it can be added to by several at once."""
    owned = {"memoriesId": escaped(space)}
    named = {escaped(id): access for id, access in counts.items()}
    present = find_in(db.memories, {**owned, "status": {"$ne": "erased"}}, "_id", named, {"_id": 1})
    ids = [found["_id"] async for found in present]
    begun = {found["_id"] async for found in find_in(db.accesses, owned, "_id", ids, {"_id": 1})}
    new = [{"_id": id, **owned, "count": 0, "last": ""} for id in ids if id not in begun]
    await insert_new(db.accesses, new)
    updates = [UpdateOne({"_id": id, **owned}, _more(named[id], at_least)) for id in ids]
    if updates:
        await db.accesses.bulk_write(updates, ordered=False)


def _more(access: Access, at_least: bool) -> dict[str, dict[str, int | str]]:
    last = access.last.astimezone(UTC).isoformat(timespec="microseconds")
    if at_least:
        return {"$max": {"count": access.count, "last": last}}
    return {"$inc": {"count": access.count}, "$max": {"last": last}}


async def accesses(db: Database, space: str, ids: Collection[str]) -> dict[str, Access]:
    """See Storage.accesses."""
    found = find_in(db.accesses, {"memoriesId": escaped(space)}, "_id", [escaped(id) for id in ids])
    return {
        unescaped(one["_id"]): Access(count=one["count"], last=datetime.fromisoformat(one["last"]))
        async for one in found
        if one["count"]
    }
