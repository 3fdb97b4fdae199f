"""Opens the storage that a database URL names."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.memory.storage.url import parse_url


@asynccontextmanager
async def open_storage(url: str) -> AsyncIterator[Storage]:
    """The storage for `sqlite:///relative.db`, `sqlite:////absolute.db`, `mongodb://…` or `mongodb+srv://…`.

    Raises InputRefused for an address of another form and StorageFailed when the database cannot be opened.
    Closes it on leaving. Imports only the backend that it opens: the command starts sooner.
    """
    database = parse_url(url)
    if database.path is not None:
        from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage

        async with SqliteStorage.open(database.path) as storage:
            yield storage
    else:
        from thoughtcycle.memory.storage.mongo.storage import MongoStorage

        async with MongoStorage.open(database.url, database.shown) as mongo_storage:
            yield mongo_storage
