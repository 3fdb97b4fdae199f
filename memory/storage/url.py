"""A database URL: which database it names, and how it may be shown without its password."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from thoughtcycle.prompts.errors import InputRefused

_SECRET = re.compile(r"(?<=://)([^:/@]*):.*@|(?<=[?&])([^=&]*password[^=&]*)=[^&]*", re.IGNORECASE)


@dataclass(frozen=True)
class DatabaseUrl:
    """A parsed database URL; printing it shows no password."""

    kind: Literal["sqlite", "mongodb"]
    path: Path | None
    """The file of a SQLite database; None for MongoDB."""
    url: str = field(repr=False)
    shown: str
    """The path, or the address with its password masked: what may stand in messages and logs."""


def parse_url(url: str) -> DatabaseUrl:
    """Reads `sqlite:///relative.db`, `sqlite:////absolute.db`, `mongodb://…` or `mongodb+srv://…`.

    Raises InputRefused (`database_url`) for anything else.
    """
    if url.startswith(("mongodb://", "mongodb+srv://")):
        return DatabaseUrl("mongodb", None, url, masked(url))
    name = unquote(url.removeprefix("sqlite:///"))
    if not url.startswith("sqlite:///") or not name:
        raise InputRefused("database_url", url=masked(url))
    return DatabaseUrl("sqlite", Path(name), url, name)


def masked(url: str) -> str:
    """`url` with passwords replaced by `***`."""
    return _SECRET.sub(lambda found: f"{found[1]}:***@" if found[1] is not None else f"{found[2]}=***", url)
