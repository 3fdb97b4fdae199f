"""Checks, counts and repairs in SQLite: plain functions of a connection, each run as one transaction."""

import sqlite3
from collections import Counter

from thoughtcycle.memory.records import utc_now
from thoughtcycle.memory.storage.documents import dumps, loads
from thoughtcycle.memory.storage.health import Census, CycleState

_LISTED = (
    "SELECT 1 FROM memories, json_each(memories.document, '$.vectorIds') AS listed "
    "WHERE memories.id = vectors.nosqlId AND memories.space = vectors.space AND listed.value = vectors.id"
)
_STRAY = f"space = ? AND NOT EXISTS ({_LISTED})"
_BYTES = (
    "SELECT sum(length(CAST(document AS BLOB))) FROM memories WHERE space = ?",
    "SELECT sum(length(CAST(text AS BLOB)) + length(data)) FROM vectors WHERE space = ?",
    "SELECT sum(length(CAST(before AS BLOB))) FROM journal WHERE space = ?",
    "SELECT sum(length(CAST(document AS BLOB))) FROM cycles WHERE user = ?",
    "SELECT sum(length(CAST(document AS BLOB))) FROM sheets WHERE user = ?",
    "SELECT sum(length(CAST(annex AS BLOB))) FROM sheet_annexes WHERE user = ?",
    "SELECT sum(length(data)) FROM files WHERE user = ?",
    "SELECT sum(length(data)) FROM message_vectors JOIN cycles ON cycles.id = cycle WHERE user = ?",
)


def integrity(db: sqlite3.Connection) -> list[str]:
    """See Health.integrity."""
    found = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    broken = Counter((table, parent) for table, _, parent, _ in db.execute("PRAGMA foreign_key_check"))
    lines = [f"{number} × {table} → {parent}" for (table, parent), number in sorted(broken.items())]
    return [line for line in found if line != "ok"] + lines


def mend(db: sqlite3.Connection) -> None:
    """See Health.mend."""
    db.execute("DELETE FROM message_vectors WHERE cycle NOT IN (SELECT id FROM cycles)")
    db.execute("DELETE FROM accesses WHERE memory NOT IN (SELECT id FROM memories)")
    there = "SELECT 1 FROM sheets WHERE user = one.user AND kind = one.kind AND id = one.id"
    db.execute(f"DELETE FROM sheet_annexes AS one WHERE NOT EXISTS ({there})")


def users(db: sqlite3.Connection) -> list[str]:
    """See Health.users."""
    parts: tuple[str, ...] = (
        "space FROM memories",
        "space FROM vectors",
        "space FROM journal",
        "user FROM conversations",
    )
    parts += ("user FROM cycles", "user FROM sheets", "user FROM files", "user FROM channel_links")
    rows = db.execute(" UNION ".join(f"SELECT {part}" for part in parts))
    return sorted(row[0] for row in rows)


def census(db: sqlite3.Connection, user: str) -> Census:
    """See Health.census."""

    def count(query: str) -> int:
        return int(db.execute(query, (user,)).fetchone()[0] or 0)

    kind = "json_extract(document, '$.kind')"
    query = f"SELECT status, {kind}, count(*) FROM memories WHERE space = ? GROUP BY 1, 2"
    kinds = db.execute(query, (user,))
    sheets = "SELECT kind, count(*) FROM sheets WHERE user = ? AND document IS NOT NULL GROUP BY kind"
    pages = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
    return Census(
        memories={(status, kind): number for status, kind, number in kinds},
        chats=count("SELECT count(*) FROM conversations WHERE user = ?"),
        cycles=count("SELECT count(*) FROM cycles WHERE user = ?"),
        changes=count("SELECT count(*) FROM journal WHERE space = ?"),
        sheets=dict(db.execute(sheets, (user,)).fetchall()),
        pending=count("SELECT count(*) FROM cycles WHERE user = ? AND pending IS NOT NULL"),
        bytes=sum(map(count, _BYTES)),
        database_bytes=pages[0] * pages[1],
    )


def cycle_states(db: sqlite3.Connection, user: str) -> list[CycleState]:
    """See Health.cycle_states."""
    rows = db.execute("SELECT id, chat, open, number FROM cycles WHERE user = ?", (user,))
    return [CycleState(id, chat, bool(open), number) for id, chat, open, number in rows]


def stray_vectors(db: sqlite3.Connection, space: str) -> list[str]:
    """See Health.stray_vectors."""
    return [row[0] for row in db.execute(f"SELECT id FROM vectors WHERE {_STRAY} ORDER BY id", (space,))]


def mend_vectors(db: sqlite3.Connection, space: str) -> None:
    """See Health.mend_vectors."""
    db.execute(f"DELETE FROM vectors WHERE {_STRAY}", (space,))
    there = {id for (id,) in db.execute("SELECT id FROM vectors WHERE space = ?", (space,))}
    for id, text in db.execute("SELECT id, document FROM memories WHERE space = ?", (space,)).fetchall():
        record = loads(text)
        kept = tuple(vector for vector in record.vector_ids if vector in there)
        if kept != record.vector_ids:
            mended = dumps(record.model_copy(update={"vector_ids": kept}))
            db.execute("UPDATE memories SET document = ? WHERE id = ?", (mended, id))


def mend_chat(db: sqlite3.Connection, user: str, chat: str, tip: str | None) -> None:
    """See Health.mend_chat."""
    at = utc_now().isoformat()
    db.execute(
        "INSERT OR IGNORE INTO conversations (id, user, created, updated) VALUES (?, ?, ?, ?)",
        (chat, user, at, at),
    )
    db.execute("UPDATE conversations SET tip = ? WHERE id = ? AND user = ?", (tip, chat, user))
