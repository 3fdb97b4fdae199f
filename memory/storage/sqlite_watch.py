"""Looks into a SQLite file on the event loop's own thread: whether anything of a user's was written."""

import sqlite3
from datetime import datetime
from pathlib import Path
from types import MethodDescriptorType

from thoughtcycle.memory.storage.failures import translated
from thoughtcycle.memory.storage.forgetting import Glimpse, Pulse, hashed

_SEEN = """
SELECT row.number, row.at, row.memory, gone.at, coalesce(
    (SELECT max(number) FROM cycles WHERE user = ?2 AND number IS NOT NULL), gone.cycles, 0),
    (SELECT revision || ' ' || updated FROM sheets WHERE user = ?2 AND kind = 'settings' AND id = '')
FROM (SELECT 1)
    LEFT JOIN forgotten AS gone ON gone.user = ?1
    LEFT JOIN (SELECT number, at, memory FROM journal WHERE space = ?3 ORDER BY number DESC LIMIT 1) AS row
"""


MOST = 10_000
"""Users whose glimpses are kept while nobody writes."""


class Watch:
    """A connection that only reads, waits for no lock, and asks for single rows, found by their keys.

    That takes some microseconds; the way to the storage's thread and back takes many times as long.
    """

    def __init__(self, path: Path) -> None:
        """Made on any thread, then used on one."""
        with translated(str(path)):
            self._db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            self._read("")  # SQLite learns the tables' definitions
        self._version: int | None = None
        self._known: dict[str, Glimpse] = {}
        """Since anybody last wrote, for whomever."""

    def glimpse(self, user: str) -> Glimpse | None:
        """See Storage.glimpse; None as well for what a read would refuse.

        `langgraph dev` forbids every call of SQLite on the event loop, and has wrapped them for that: there
        only the storage's thread can tell.
        """
        if not isinstance(sqlite3.Connection.execute, MethodDescriptorType):
            return None
        try:
            ((version,),) = self._db.execute("PRAGMA data_version")  # what other connections have committed
            if version != self._version:
                self._version = version
                self._known.clear()
            if user not in self._known:
                if len(self._known) >= MOST:
                    self._known.clear()
                self._known[user] = self._read(user)
        except (sqlite3.Error, UnicodeEncodeError):
            return None
        return self._known[user]

    def close(self) -> None:
        """Closes the connection."""
        self._db.close()

    def _read(self, user: str) -> Glimpse:
        """What `sqlite_forgetting.pulse`, `sqlite_transcript.last` and the settings say, in one statement."""
        ((number, at, memory, forgotten, cycles, settings),) = self._db.execute(
            _SEEN, (hashed(user), user, user)
        )
        last = ((number, datetime.fromisoformat(at), memory),) if number is not None else ()
        return Glimpse(
            Pulse(last, datetime.fromisoformat(forgotten) if forgotten else None), cycles, settings
        )
