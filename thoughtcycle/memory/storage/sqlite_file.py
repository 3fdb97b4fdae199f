"""A SQLite file that several connections share: private, in WAL mode, written by one connection at a time."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from thoughtcycle.errors import StorageCorrupt

_WAL_ATTEMPTS = 100
_TURN_SECONDS = 0.1
"""How long to wait for a turn; then SQLite waits its own way: the holder may itself be waiting."""

_turns: "WeakValueDictionary[str, threading.Lock]" = WeakValueDictionary()
_opening = threading.Lock()


class SqliteConnection(sqlite3.Connection):
    """Takes turns with the other connections of this process to the same file.

    SQLite lets a writer that finds the file locked sleep for milliseconds, and longer each time. The memory
    and a checkpointer beside it write at the same moments of every turn, so one of them would often do that.
    """

    def __init__(self, database: Any, *args: Any, **kwargs: Any) -> None:
        """As sqlite3.Connection."""
        super().__init__(database, *args, **kwargs)
        with _opening:
            self._turns = _turns.setdefault(os.path.realpath(database), threading.Lock())

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Encloses a write transaction that begins and ends on the connection's thread."""
        acquired = self._turns.acquire(timeout=_TURN_SECONDS)
        try:
            yield
        finally:
            if acquired:
                self._turns.release()


def make_private(path: Path) -> None:
    """Makes an empty file (0600) and its folders (0700) where they are missing; leaves alone what exists.

    SQLite gives the files that it puts beside this one the same mode.
    """
    _make_folder(path.parent)
    # Never open a file that exists: closing it would take away the locks that this process holds on it.
    with suppress(OSError):  # SQLite reports whatever else is wrong
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _make_folder(folder: Path) -> None:
    """Makes the parents too; `Path.mkdir` would give those the usual mode."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def use_wal(connection: sqlite3.Connection) -> None:
    """Puts the file into WAL mode, where readers and the writer do not wait for each other.

    Changing the mode needs the file for itself, and SQLite refuses it at once, whatever the busy
    time-out, while another process changes it too. So after a refusal this waits, by the busy time-out,
    until nobody writes, and looks again. `connection` must be in autocommit mode, outside a transaction.
    A file system that cannot do it leaves the mode as it was, which works too.
    """
    for attempt in range(_WAL_ATTEMPTS):
        if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            return
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or attempt == _WAL_ATTEMPTS - 1:
                raise
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")


def check_integrity(connection: sqlite3.Connection, place: str) -> None:
    """Raises StorageFailed unless the file is undamaged, written by this program and by no newer version."""
    from thoughtcycle.memory.storage.sqlite.schema import check_version

    ours = check_version(connection, place)
    if not ours or connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        raise StorageCorrupt(place)
