"""Connections of one process that write to the same SQLite file take turns.

SQLite lets a writer that finds the file locked sleep for milliseconds, and longer each time. The memory and a
checkpointer beside it write in the same moments of every turn, so that one of them would often do that.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

_PATIENCE_SECONDS = 0.1
"""Then SQLite's own way of waiting follows: whose turn it is may wait for another process."""

_turns: "WeakValueDictionary[str, threading.Lock]" = WeakValueDictionary()
_opening = threading.Lock()


class Connection(sqlite3.Connection):
    """One that knows which others of this process use its file."""

    def __init__(self, database: Any, *args: Any, **kwargs: Any) -> None:
        """As sqlite3.Connection."""
        super().__init__(database, *args, **kwargs)
        with _opening:
            self._turns = _turns.setdefault(os.path.realpath(database), threading.Lock())

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Around a write transaction that begins and ends on the connection's thread."""
        mine = self._turns.acquire(timeout=_PATIENCE_SECONDS)
        try:
            yield
        finally:
            if mine:
                self._turns.release()
