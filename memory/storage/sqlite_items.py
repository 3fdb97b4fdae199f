"""Items in SQLite: plain functions of a connection, each run as one transaction."""

import sqlite3
from collections.abc import Collection

from thoughtcycle.memory.storage.documents import item_of, parsed
from thoughtcycle.memory.storage.item_port import StoredItem
from thoughtcycle.memory.storage.sqlite_memories import where_in

_WHAT, _ACTIVE = "document FROM memories", "AND status = 'active'"


def items(
    db: sqlite3.Connection, space: str, ids: Collection[str], keys: Collection[str]
) -> list[StoredItem]:
    """See ItemStorage.items."""
    rows = [
        *where_in(db, _WHAT, space, "id", ids, _ACTIVE),
        *where_in(db, _WHAT, space, "key", keys, _ACTIVE),
    ]
    return [item_of(parsed(row[0])) for row in rows]


def deleted(db: sqlite3.Connection, space: str, key: str) -> list[str]:
    """See ItemStorage.deleted_items."""
    query = "SELECT id FROM memories WHERE space = ? AND status = 'hidden' AND key = ? AND current IS NULL"
    return [id for (id,) in db.execute(f"{query} ORDER BY revision DESC", (space, key))]
