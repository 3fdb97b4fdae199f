"""The saver's connection to the file that it shares with the memory: short writes, each in its turn."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from thoughtcycle.memory.storage import SqliteConnection

AT_ONCE = 500
"""Rows of one statement: SQLite takes 32,766 values."""


class Connection(SqliteConnection):
    """One in which a write outside a transaction waits for its turn, and an `executemany` is a transaction.

    It begins and ends on the connection's own thread: the file's only write lock, which the memory needs
    too, is not held while the event loop is busy with something else.
    """

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if self.in_transaction or not sql.lstrip().startswith(("INSERT", "DELETE")):
            return super().execute(sql, parameters)
        with self.turn():
            return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        if self.in_transaction:
            return super().executemany(sql, parameters)
        with self.turn(), self:
            self.execute("BEGIN IMMEDIATE")
            return super().executemany(sql, parameters)


def together(sql: str, rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
    """`sql` with all these `rows` (one at least, AT_ONCE at most) in the place called so, and its parameters.

    One statement is a transaction of its own. Between two, SQLite's thread needs the interpreter, which the
    event loop's may keep for milliseconds, and the file stays locked for the memory meanwhile.
    """
    every = ", ".join([marks(rows[0])] * len(rows))
    return sql.format(rows=every), [value for one in rows for value in one]


def marks(row: Sequence[Any]) -> str:
    """The placeholders of `row` in a statement."""
    return f"({', '.join('?' * len(row))})"
