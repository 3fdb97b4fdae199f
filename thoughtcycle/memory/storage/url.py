"""Parses a database URL: the kind of database, its place, and a form without password for people."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thoughtcycle.errors import InputRefused

MONGO_DATABASE = "thoughtcycle"
"""The database of a MongoDB URL whose path names none."""
_MONGO_TIME_OUTS = {
    "serverSelectionTimeoutMS": 5_000,  # until a server is found
    "socketTimeoutMS": 30_000,  # while a server that was reached is silent
}
_USER_INFO = re.compile(r"(?<=://)[^/?#]*@")


@dataclass(frozen=True)
class DatabaseUrl:
    """A valid database URL."""

    url: str = field(repr=False)
    """As given; may hold a password."""
    shown: str
    """For people: a path, or an address without user and password."""
    path: Path | None = None
    """The file of a SQLite database; None for MongoDB."""

    @property
    def place(self) -> str:
        """The identity of the database: the whole path of its file, or its address."""
        return str(self.path.absolute()) if self.path is not None else self.shown


def parse_url(url: str) -> DatabaseUrl:
    """`sqlite:///relative.db`, `sqlite:////absolute.db`, `mongodb://…` or `mongodb+srv://…`.

    Raises InputRefused('database_url') for anything else, without repeating a password.
    """
    url = url.strip()
    if url.startswith("sqlite:///"):
        name = url.removeprefix("sqlite:///")
        if name and name != ":memory:" and "\0" not in name and not name.endswith("/"):
            with suppress(RuntimeError):  # a home folder that is unknown
                return DatabaseUrl(url, name, Path(name).expanduser())
    shown = _USER_INFO.sub("", url)
    if re.match(r"mongodb(\+srv)?://[^/]", url):
        return DatabaseUrl(url, shown)
    raise InputRefused("database_url", url=repr(shown))


def mongo_time_outs(url: str) -> dict[str, Any]:
    """Options of a MongoDB client, in milliseconds, without those that the URL itself sets."""
    return {name: value for name, value in _MONGO_TIME_OUTS.items() if name.lower() not in url.lower()}
