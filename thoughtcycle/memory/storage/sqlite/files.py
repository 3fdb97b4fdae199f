"""Files in SQLite."""

from collections.abc import Collection, Mapping
from sqlite3 import Connection

from thoughtcycle.memory.model import key_of
from thoughtcycle.memory.storage.base.files import Files
from thoughtcycle.memory.storage.sqlite.database import Repository, reading, writing


class SqliteFiles(Files, Repository):
    @writing
    def put(self, db: Connection, user: str, sha256: str, data: bytes) -> None:
        self._database.check_epoch(db, user)
        db.execute("INSERT OR IGNORE INTO files (user, hash, data) VALUES (?, ?, ?)", (user, sha256, data))

    @reading
    def get(self, db: Connection, user: str, sha256: str) -> bytes | None:
        row = db.execute("SELECT data FROM files WHERE user = ? AND hash = ?", (user, sha256)).fetchone()
        return bytes(row[0]) if row else None

    @reading
    def listing(self, db: Connection, user: str) -> Mapping[str, int]:
        return dict(db.execute("SELECT hash, length(data) FROM files WHERE user = ?", (user,)).fetchall())

    @writing
    def drop(self, db: Connection, user: str, sha256: str, *, without: Collection[str] = ()) -> bool:
        """A memory names its file by its key, also when its content is packed."""
        query = "SELECT id FROM memories WHERE space = ? AND key = ? AND status <> 'erased'"
        names = {id for (id,) in db.execute(query, (user, key_of(sha256)))}
        if names - set(without):
            return False
        return bool(db.execute("DELETE FROM files WHERE user = ? AND hash = ?", (user, sha256)).rowcount)
