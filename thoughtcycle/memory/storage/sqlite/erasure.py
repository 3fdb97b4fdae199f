"""Families of memories, tombstones and a clean file in SQLite."""

from collections.abc import Collection, Mapping, Sequence
from sqlite3 import Connection

from thoughtcycle.memory.model import MemoryRecord, Tombstone
from thoughtcycle.memory.storage.base.erasure import Erasure
from thoughtcycle.memory.storage.serialization import NOT_DELETED, dumps, loads
from thoughtcycle.memory.storage.sqlite.database import Repository, reading, writing
from thoughtcycle.memory.storage.sqlite.memories import documents


class SqliteErasure(Erasure, Repository):
    @reading
    def family(self, db: Connection, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        return [*documents(db, space, "id", ids), *documents(db, space, "current", ids)]

    @reading
    def hidden(self, db: Connection, space: str | None = None) -> list[MemoryRecord]:
        query = "SELECT document FROM memories WHERE status = 'hidden'"
        query += " AND coalesce(json_extract(document, '$.reason'), '') NOT IN (?, ?)"
        if space is None:
            return [loads(row[0]) for row in db.execute(query, NOT_DELETED)]
        query += " AND space = ? ORDER BY revision DESC"
        return [loads(row[0]) for row in db.execute(query, (*NOT_DELETED, space))]

    @writing
    def secret(self, db: Connection, user: str, fresh: bytes) -> bytes:
        db.execute("INSERT OR IGNORE INTO erasure_keys (user, secret) VALUES (?, ?)", (user, fresh))
        return bytes(db.execute("SELECT secret FROM erasure_keys WHERE user = ?", (user,)).fetchone()[0])

    @writing
    def bury(self, db: Connection, user: str, tombstones: Sequence[Tombstone]) -> None:
        db.executemany(
            "INSERT OR IGNORE INTO tombstones (user, memory, document) VALUES (?, ?, ?)",
            [(user, one.memory, one.model_dump_json()) for one in tombstones],
        )

    @reading
    def tombstones(self, db: Connection, user: str) -> list[Tombstone]:
        rows = db.execute("SELECT document FROM tombstones WHERE user = ? ORDER BY memory", (user,))
        return [Tombstone.model_validate_json(row[0]) for row in rows]

    @writing
    def rewrite_journal(self, db: Connection, space: str, befores: Mapping[int, MemoryRecord]) -> None:
        db.executemany(
            "UPDATE journal SET before = ? WHERE space = ? AND number = ? AND before IS NOT NULL",
            [(dumps(record), space, number) for number, record in befores.items()],
        )

    async def scrub(self) -> None:
        """While another process reads an old state, SQLite's next checkpoint does it."""
        await self._database.outside(_empty_log)


def _empty_log(db: Connection) -> None:
    """Empties the write-ahead log; waits for nobody."""
    before = db.execute("PRAGMA busy_timeout").fetchone()[0]
    db.execute("PRAGMA busy_timeout = 0")
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        db.execute(f"PRAGMA busy_timeout = {int(before)}")
