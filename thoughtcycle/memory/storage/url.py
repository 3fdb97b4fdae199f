"""Reads a database URL: which kind of database it names, where it is, and how it may be shown."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from thoughtcycle.errors import InputRefused

MONGO_DATABASE = "thoughtcycle"
"""The database of a MongoDB URL whose path names none."""
_ANSWER_SECONDS = 5.0
"""How long to wait for a MongoDB server to be found, where the URL sets no time-out of its own."""
_SILENCE_SECONDS = 30.0
"""How long a MongoDB server that was reached may stay silent, where the URL sets no time-out of its own."""
_USER_INFO = re.compile(r"(?<=://)[^/?#]*@")


@dataclass(frozen=True)
class DatabaseUrl:
    """A database URL that was understood."""

    kind: Literal["sqlite", "mongodb"]
    url: str = field(repr=False)
    """As given; may hold a password."""
    shown: str
    """For people: a path, or an address without user and password."""
    path: Path | None = None
    """The file of a SQLite database; None for any other kind."""

    @property
    def place(self) -> str:
        """What tells this database from others: the whole path of its file, or its address."""
        return str(self.path.absolute()) if self.path is not None else self.shown


def parse_url(url: str) -> DatabaseUrl:
    """`sqlite:///relative.db`, `sqlite:////absolute.db`, `mongodb://…` or `mongodb+srv://…`.

    Raises InputRefused('database_url') for anything else, without repeating a password.
    """
    url = url.strip()
    if url.startswith("sqlite:///"):
        name = url.removeprefix("sqlite:///")
        if name and name != ":memory:" and "\0" not in name and not name.endswith("/"):
            return DatabaseUrl("sqlite", url, name, _path(name))
    if re.match(r"mongodb(\+srv)?://[^/]", url):
        return DatabaseUrl("mongodb", url, without_user_info(url))
    raise InputRefused("database_url", url=repr(without_user_info(url)))


def _path(name: str) -> Path:
    """`~/` is the user's home; InputRefused where that is unknown."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise InputRefused("database_url", url=repr(f"sqlite:///{name}")) from None


def without_user_info(url: str) -> str:
    """`url` without the user and password before its host."""
    return _USER_INFO.sub("", url)


def mongo_time_outs(url: str) -> dict[str, Any]:
    """Options of a MongoDB client, in milliseconds; those that the URL itself sets are left out."""
    ours = {
        "serverSelectionTimeoutMS": int(_ANSWER_SECONDS * 1000),
        "socketTimeoutMS": int(_SILENCE_SECONDS * 1000),
    }
    return {name: value for name, value in ours.items() if name.lower() not in url.lower()}
