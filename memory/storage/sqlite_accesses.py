"""Access counts in SQLite, beside documents and journal: plain functions of a connection."""

import sqlite3
from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from thoughtcycle.memory.records import Access
from thoughtcycle.memory.storage.sqlite_memories import where_in

_TOUCH = """
INSERT INTO accesses (memory, space, count, last)
SELECT id, space, ?, ? FROM memories WHERE id = ? AND space = ? AND status != 'erased'
ON CONFLICT (memory) DO UPDATE SET count = {count}, last = max(last, excluded.last)
"""


def touch(db: sqlite3.Connection, space: str, counts: Mapping[str, Access], at_least: bool) -> None:
    """See Storage.touch."""
    rows = [
        (access.count, access.last.astimezone(UTC).isoformat(timespec="microseconds"), id, space)
        for id, access in counts.items()
    ]
    count = "max(count, excluded.count)" if at_least else "count + excluded.count"
    db.executemany(_TOUCH.format(count=count), rows)


def accesses(db: sqlite3.Connection, space: str, ids: Collection[str]) -> dict[str, Access]:
    """See Storage.accesses."""
    rows = where_in(db, "memory, count, last FROM accesses", space, "memory", ids)
    return {id: Access(count=count, last=datetime.fromisoformat(last)) for id, count, last in rows}
