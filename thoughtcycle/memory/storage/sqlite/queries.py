"""Queries that several repositories in SQLite make."""

from collections.abc import Collection, Iterator
from datetime import datetime
from sqlite3 import Connection
from typing import Any

from thoughtcycle.memory.storage.epochs import Forgotten, hashed

_CHUNK = 500


def where_in(
    db: Connection, query: str, values: Collection[str], *given: str, more: str = ""
) -> Iterator[Any]:
    """Rows for which the column that ends `query` is one of `values`; SQLite allows only so many at once.

    `given` fill the places before it; `more` follows it.
    """
    wanted = list(dict.fromkeys(values))
    for start in range(0, len(wanted), _CHUNK):
        some = wanted[start : start + _CHUNK]
        yield from db.execute(f"{query} IN ({marks(some)}) {more}", (*given, *some))


def marks(values: Collection[str]) -> str:
    """A place for each of `values`."""
    return ", ".join("?" * len(values))


def forgotten(db: Connection, user: str) -> Forgotten:
    """What is left of the user, if they were forgotten."""
    query = "SELECT epoch, journal, cycles, at FROM forgotten WHERE user = ?"
    if (row := db.execute(query, (hashed(user),)).fetchone()) is None:
        return Forgotten()
    epoch, journal, cycles, at = row
    return Forgotten(epoch, journal, cycles, datetime.fromisoformat(at) if at else None)
