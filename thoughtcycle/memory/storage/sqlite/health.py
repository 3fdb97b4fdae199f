"""Checks and repairs in SQLite."""

from collections import Counter
from sqlite3 import Connection

from thoughtcycle.memory.storage.base.health import CycleState, Health
from thoughtcycle.memory.storage.serialization import dumps, loads
from thoughtcycle.memory.storage.sqlite.database import Repository, reading, writing

_LISTED = (
    "SELECT 1 FROM memories, json_each(memories.document, '$.vectorIds') AS listed "
    "WHERE memories.id = vectors.nosqlId AND memories.space = vectors.space AND listed.value = vectors.id"
)
_STRAY = f"space = ? AND NOT EXISTS ({_LISTED})"


class SqliteHealth(Health, Repository):
    @reading
    def integrity(self, db: Connection) -> list[str]:
        found = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
        broken = Counter((table, parent) for table, _, parent, _ in db.execute("PRAGMA foreign_key_check"))
        lines = [f"{number} × {table} → {parent}" for (table, parent), number in sorted(broken.items())]
        return [line for line in found if line != "ok"] + lines

    @writing
    def mend(self, db: Connection) -> None:
        db.execute("DELETE FROM message_vectors WHERE cycle NOT IN (SELECT id FROM cycles)")
        db.execute("DELETE FROM accesses WHERE memory NOT IN (SELECT id FROM memories)")
        db.execute(
            "DELETE FROM conversation_entries WHERE conversation NOT IN (SELECT number FROM documents)"
        )

    @reading
    def cycle_states(self, db: Connection, user: str) -> list[CycleState]:
        rows = db.execute("SELECT id, chat, open, number FROM cycles WHERE user = ?", (user,))
        return [CycleState(id, chat, bool(open), number) for id, chat, open, number in rows]

    @reading
    def stray_vectors(self, db: Connection, space: str) -> list[str]:
        return [row[0] for row in db.execute(f"SELECT id FROM vectors WHERE {_STRAY} ORDER BY id", (space,))]

    @writing
    def mend_vectors(self, db: Connection, space: str) -> None:
        db.execute(f"DELETE FROM vectors WHERE {_STRAY}", (space,))
        there = {id for (id,) in db.execute("SELECT id FROM vectors WHERE space = ?", (space,))}
        for id, text in db.execute("SELECT id, document FROM memories WHERE space = ?", (space,)).fetchall():
            record = loads(text)
            kept = tuple(vector for vector in record.vector_ids if vector in there)
            if kept != record.vector_ids:
                mended = dumps(record.model_copy(update={"vector_ids": kept}))
                db.execute("UPDATE memories SET document = ? WHERE id = ?", (mended, id))
