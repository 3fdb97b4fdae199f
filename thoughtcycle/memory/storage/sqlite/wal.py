"""Puts a SQLite file into write-ahead mode, also when several processes create it at the same moment."""

import sqlite3

_ATTEMPTS = 100


def use_wal(connection: sqlite3.Connection) -> None:
    """Makes `connection`'s database one in WAL mode, where readers and the writer do not wait for each other.

    Changing the mode needs the file for itself, and SQLite refuses it at once, whatever the busy
    time-out, while another process changes it too. So after a refusal this waits, by the busy time-out,
    until nobody writes, and looks again. `connection` must be in autocommit mode, outside a transaction.
    A file system that cannot do it leaves the mode as it was, which works too.
    """
    for attempt in range(_ATTEMPTS):
        if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            return
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or attempt == _ATTEMPTS - 1:
                raise
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
