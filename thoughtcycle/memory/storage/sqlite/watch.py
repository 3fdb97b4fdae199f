"""Shows on the event loop's own thread whether anything of a user's was written to a SQLite file."""

import sqlite3
from datetime import datetime
from pathlib import Path
from types import MethodDescriptorType

from thoughtcycle.memory.storage.base.users import Glimpse, Pulse
from thoughtcycle.memory.storage.epochs import hashed
from thoughtcycle.memory.storage.failures import translated

_SEEN = """
SELECT row.number, row.at, row.memory, gone.at, coalesce(
    (SELECT max(number) FROM cycles WHERE user = ?2 AND number IS NOT NULL), gone.cycles, 0),
    (SELECT revision FROM settings WHERE user = ?2)
FROM (SELECT 1)
    LEFT JOIN forgotten AS gone ON gone.user = ?1
    LEFT JOIN (SELECT number, at, memory FROM journal WHERE space = ?3 ORDER BY number DESC LIMIT 1) AS row
"""
MOST = 10_000
"""Users whose glimpses are cached while nobody writes."""


class Watch:
    """A connection that only reads, waits for no lock, and asks for single rows, found by their keys.

    That takes some microseconds. The way to the database's thread and back doubles the time of a search.
    """

    def __init__(self, path: Path) -> None:
        """Made on any thread, then used on one."""
        with translated(str(path)):
            self._db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            self._read("")  # SQLite learns the tables' definitions
        self._version: int | None = None
        self._glimpses: dict[str, Glimpse] = {}
        """User → glimpse, since the last write of anybody."""

    def glimpse(self, user: str) -> Glimpse | None:
        """As `Storage.glimpse`; None too where a read would fail, or where `langgraph dev` wraps SQLite's
        calls to forbid them on the event loop.
        """
        if not isinstance(sqlite3.Connection.execute, MethodDescriptorType):
            return None
        try:
            ((version,),) = self._db.execute("PRAGMA data_version")  # changes with other connections' commits
            if version != self._version or len(self._glimpses) >= MOST:
                self._version = version
                self._glimpses.clear()
            if user not in self._glimpses:
                self._glimpses[user] = self._read(user)
        except (sqlite3.Error, UnicodeEncodeError):
            return None
        return self._glimpses[user]

    def close(self) -> None:
        """Closes the connection."""
        self._db.close()

    def _read(self, user: str) -> Glimpse:
        rows = self._db.execute(_SEEN, (hashed(user), user, user))
        ((number, at, memory, forgotten, cycles, settings),) = rows
        last = ((number, datetime.fromisoformat(at), memory),) if number is not None else ()
        pulse = Pulse(last, datetime.fromisoformat(forgotten) if forgotten else None)
        return Glimpse(pulse, cycles, settings)
