"""Storage in a SQLite file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.memory.storage.base.users import Glimpse
from thoughtcycle.memory.storage.sqlite.channels import SqliteChannels
from thoughtcycle.memory.storage.sqlite.chats import SqliteChats
from thoughtcycle.memory.storage.sqlite.database import BUSY_SECONDS, SqliteDatabase
from thoughtcycle.memory.storage.sqlite.documents import SqliteDocuments
from thoughtcycle.memory.storage.sqlite.erasure import SqliteErasure
from thoughtcycle.memory.storage.sqlite.files import SqliteFiles
from thoughtcycle.memory.storage.sqlite.health import SqliteHealth
from thoughtcycle.memory.storage.sqlite.jobs import SqliteJobs
from thoughtcycle.memory.storage.sqlite.learned import SqliteLearned
from thoughtcycle.memory.storage.sqlite.memories import SqliteMemories
from thoughtcycle.memory.storage.sqlite.transcript import SqliteTranscript
from thoughtcycle.memory.storage.sqlite.users import SqliteUsers


class SqliteStorage(Storage):
    """Keeps everything in one file (WAL), beside the tables of whoever else uses that file."""

    def __init__(self, database: SqliteDatabase) -> None:
        """`database` is open and stays the caller's."""
        self.database = database
        self.memories = SqliteMemories(database)
        self.transcript = SqliteTranscript(database)
        self.chats = SqliteChats(database)
        self.documents = SqliteDocuments(database)
        self.jobs = SqliteJobs(database)
        self.files = SqliteFiles(database)
        self.channels = SqliteChannels(database)
        self.erasure = SqliteErasure(database)
        self.users = SqliteUsers(database)
        self.health = SqliteHealth(database)
        self.learned = SqliteLearned(database)

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> AsyncIterator["SqliteStorage"]:
        """Opens the file, creates what is missing, and closes it on leaving."""
        async with SqliteDatabase.open(path, busy_seconds) as database:
            yield cls(database)

    def glimpse(self, user: str) -> Glimpse | None:
        return self.database.watch.glimpse(user)
