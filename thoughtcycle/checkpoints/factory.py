"""Opens the checkpointer that a database URL names; nothing blocks the event loop meanwhile."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import aiosqlite

from thoughtcycle.checkpoints.retention import KEEP_TURNS
from thoughtcycle.checkpoints.sqlite import SqliteSaver
from thoughtcycle.checkpoints.sqlite_connection import Connection
from thoughtcycle.memory.storage import make_private, parse_url, translated, use_wal

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.mongodb import MongoSaver

Saver: TypeAlias = "SqliteSaver | MongoSaver"
"""A checkpointer that also erases."""

BUSY_SECONDS = 5.0
"""How long to wait for another process to let go of the file."""


@asynccontextmanager
async def open_checkpointer(url: str, *, keep_turns: int = KEEP_TURNS) -> AsyncIterator[Saver]:
    """The saver for `sqlite:///relative.db`, `sqlite:////absolute.db`, `mongodb://…` or `mongodb+srv://…`.

    `keep_turns` (1..1000): the last turns of a thread whose checkpoints are kept. Raises InputRefused for
    an address of another form and StorageFailed when the database cannot be opened. Closes it on leaving.
    """
    database = parse_url(url)
    if database.path is not None:
        async with _open_sqlite(database.path, keep_turns) as saver:
            yield saver
    else:  # the MongoDB packages take a third of a second to import
        from thoughtcycle.checkpoints.mongodb import open_mongo

        async with open_mongo(database.url, database.shown, keep_turns) as mongo_saver:
            yield mongo_saver


@asynccontextmanager
async def _open_sqlite(path: Path, keep_turns: int) -> AsyncIterator[SqliteSaver]:
    with translated(str(path)):
        await asyncio.to_thread(_prepare, path)
        connection = await aiosqlite.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, factory=Connection
        )
    try:
        with translated(str(path)):
            await connection.execute("PRAGMA synchronous = NORMAL")
            # The texts of a turn must not stay readable in the file after its checkpoints are gone.
            await connection.execute("PRAGMA secure_delete = ON")
        saver = SqliteSaver(connection, place=str(path), keep_turns=keep_turns)
        await saver.setup()
        yield saver
    finally:
        await connection.close()


def _prepare(path: Path) -> None:
    make_private(path)
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        use_wal(connection)
