"""What models' servers were found to refuse, in SQLite."""

from datetime import datetime
from sqlite3 import Connection

from thoughtcycle.memory.storage.base.learned import Learned
from thoughtcycle.memory.storage.sqlite.database import Repository, reading, writing


class SqliteLearned(Learned, Repository):
    @writing
    def put(self, db: Connection, name: str, now: datetime, until: datetime) -> None:
        db.execute("DELETE FROM learned WHERE until <= ?", (now.timestamp(),))
        db.execute("INSERT OR REPLACE INTO learned (name, until) VALUES (?, ?)", (name, until.timestamp()))

    @reading
    def names(self, db: Connection, now: datetime) -> dict[str, datetime]:
        rows = db.execute("SELECT name, until FROM learned WHERE until > ?", (now.timestamp(),))
        return {name: datetime.fromtimestamp(until, now.tzinfo) for name, until in rows}
