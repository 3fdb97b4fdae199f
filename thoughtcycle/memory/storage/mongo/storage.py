"""Storage in MongoDB, correct on a standalone server: every commit is decided by one atomic write."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.memory.storage.mongo.channels import MongoChannels
from thoughtcycle.memory.storage.mongo.chats import MongoChats
from thoughtcycle.memory.storage.mongo.database import MongoDatabase
from thoughtcycle.memory.storage.mongo.documents import MongoDocuments
from thoughtcycle.memory.storage.mongo.erasure import MongoErasure
from thoughtcycle.memory.storage.mongo.files import MongoFiles
from thoughtcycle.memory.storage.mongo.health import MongoHealth
from thoughtcycle.memory.storage.mongo.jobs import MongoJobs
from thoughtcycle.memory.storage.mongo.learned import MongoLearned
from thoughtcycle.memory.storage.mongo.memories import MongoMemories
from thoughtcycle.memory.storage.mongo.transcript import MongoTranscript
from thoughtcycle.memory.storage.mongo.users import MongoUsers


class MongoStorage(Storage):
    """Keeps everything in one database, beside the collections of whoever else uses it."""

    def __init__(self, database: MongoDatabase) -> None:
        """`database` is open and stays the caller's."""
        self.database = database
        self.memories = MongoMemories(database)
        self.transcript = MongoTranscript(database)
        self.chats = MongoChats(database)
        self.documents = MongoDocuments(database)
        self.jobs = MongoJobs(database)
        self.files = MongoFiles(database)
        self.channels = MongoChannels(database)
        self.erasure = MongoErasure(database)
        self.users = MongoUsers(database)
        self.health = MongoHealth(database)
        self.learned = MongoLearned(database)

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, place: str) -> AsyncIterator["MongoStorage"]:
        """Opens the database that `url` names, creates what is missing, and closes it on leaving."""
        async with MongoDatabase.open(url, place) as database:
            yield cls(database)
