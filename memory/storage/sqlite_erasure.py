"""What erasing asks of SQLite: whole families of memories, tombstones, a clean file."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence

from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.memory.storage.documents import LEFT_OUT, dumps, loads
from thoughtcycle.memory.storage.sqlite_memories import documents
from thoughtcycle.memory.tombstones import Tombstone


def family(db: sqlite3.Connection, space: str, ids: Collection[str]) -> list[MemoryRecord]:
    """See Storage.family."""
    return [*documents(db, space, "id", ids), *documents(db, space, "current", ids)]


def hidden(db: sqlite3.Connection, space: str | None) -> list[MemoryRecord]:
    """See Storage.hidden."""
    query = "SELECT document FROM memories WHERE status = 'hidden'"
    query += " AND coalesce(json_extract(document, '$.reason'), '') NOT IN (?, ?)"
    if space is None:
        return [loads(row[0]) for row in db.execute(query, LEFT_OUT)]
    query += " AND space = ? ORDER BY revision DESC"
    return [loads(row[0]) for row in db.execute(query, (*LEFT_OUT, space))]


def secret(db: sqlite3.Connection, user: str, fresh: bytes) -> bytes:
    """See Storage.secret."""
    db.execute("INSERT OR IGNORE INTO erasure_keys (user, secret) VALUES (?, ?)", (user, fresh))
    return bytes(db.execute("SELECT secret FROM erasure_keys WHERE user = ?", (user,)).fetchone()[0])


def bury(db: sqlite3.Connection, user: str, tombstones: Sequence[Tombstone]) -> None:
    """See Storage.bury."""
    db.executemany(
        "INSERT OR IGNORE INTO tombstones (user, memory, document) VALUES (?, ?, ?)",
        [(user, one.memory, one.model_dump_json()) for one in tombstones],
    )


def tombstones(db: sqlite3.Connection, user: str) -> list[Tombstone]:
    """See Storage.tombstones."""
    rows = db.execute("SELECT document FROM tombstones WHERE user = ? ORDER BY memory", (user,))
    return [Tombstone.model_validate_json(row[0]) for row in rows]


def rewrite_journal(db: sqlite3.Connection, space: str, befores: Mapping[int, MemoryRecord]) -> None:
    """See Storage.rewrite_journal."""
    db.executemany(
        "UPDATE journal SET before = ? WHERE space = ? AND number = ? AND before IS NOT NULL",
        [(dumps(record), space, number) for number, record in befores.items()],
    )


def scrub(db: sqlite3.Connection) -> None:
    """See Storage.scrub: empties the write-ahead log; waits for nobody. Outside a transaction.

    While another process reads an old state this does nothing; SQLite's next checkpoint then does it.
    """
    before = db.execute("PRAGMA busy_timeout").fetchone()[0]
    db.execute("PRAGMA busy_timeout = 0")
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        db.execute(f"PRAGMA busy_timeout = {int(before)}")
