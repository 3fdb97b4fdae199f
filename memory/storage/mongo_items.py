"""Items in MongoDB: plain functions of a database."""

from collections.abc import Collection

from thoughtcycle.memory.storage.documents import ITEM_FIELDS, item_of
from thoughtcycle.memory.storage.item_port import StoredItem
from thoughtcycle.memory.storage.mongo_client import Database
from thoughtcycle.memory.storage.mongo_commit import MEMORIES
from thoughtcycle.memory.storage.mongo_documents import escaped, plain_fields, unescaped
from thoughtcycle.memory.storage.mongo_ledger import find_in

_SHOWN = dict.fromkeys(ITEM_FIELDS, 1)


async def items(db: Database, space: str, ids: Collection[str], keys: Collection[str]) -> list[StoredItem]:
    """See ItemStorage.items.

    Who asks by key may be the first to see that a commit was left undone; ids come from an index, which has
    looked.
    """
    if keys:
        await MEMORIES.settled(db, space)
    query = {"memoriesId": escaped(space), "status": "active"}
    wanted = (("_id", ids), ("activeKey", keys))
    return [
        item_of(plain_fields(document))
        for field, values in wanted
        async for document in find_in(db.memories, query, field, list(map(escaped, values)), _SHOWN)
    ]


async def deleted(db: Database, space: str, key: str) -> list[str]:
    """See ItemStorage.deleted_items."""
    await MEMORIES.settled(db, space)
    query = {"memoriesId": escaped(space), "status": "hidden", "key": escaped(key), "current": None}
    found = db.memories.find(query, {"_id": 1}).sort("revision", -1)
    return [unescaped(document["_id"]) async for document in found]
