"""Files in SQLite: plain functions of a connection, each run as one transaction."""

import sqlite3
from collections.abc import Collection, Mapping

from thoughtcycle.memory.media import key_of


def put(db: sqlite3.Connection, user: str, sha256: str, data: bytes) -> None:
    """See FileStorage.put_file."""
    db.execute("INSERT OR IGNORE INTO files (user, hash, data) VALUES (?, ?, ?)", (user, sha256, data))


def get(db: sqlite3.Connection, user: str, sha256: str) -> bytes | None:
    """See FileStorage.file."""
    row = db.execute("SELECT data FROM files WHERE user = ? AND hash = ?", (user, sha256)).fetchone()
    return bytes(row[0]) if row else None


def listing(db: sqlite3.Connection, user: str) -> Mapping[str, int]:
    """See FileStorage.files."""
    return dict(db.execute("SELECT hash, length(data) FROM files WHERE user = ?", (user,)).fetchall())


def drop(db: sqlite3.Connection, user: str, sha256: str, without: Collection[str]) -> bool:
    """See FileStorage.drop_file. A memory names its file by its key, also when its content is packed."""
    query = "SELECT id FROM memories WHERE space = ? AND key = ? AND status <> 'erased'"
    names = {id for (id,) in db.execute(query, (user, key_of(sha256)))}
    if names - set(without):
        return False
    return bool(db.execute("DELETE FROM files WHERE user = ? AND hash = ?", (user, sha256)).rowcount)
