"""Connects to MongoDB: which database, and how durable its writes are."""

from typing import Any

from pymongo import AsyncMongoClient, ReadPreference, WriteConcern
from pymongo.asynchronous.database import AsyncDatabase

from thoughtcycle.memory.storage.url import MONGO_DATABASE, mongo_time_outs

Document = dict[str, Any]
Database = AsyncDatabase[Document]

_DURABLE = WriteConcern("majority", j=True)
"""An acknowledged write is in the journal of most members (of the only one, on a standalone server)."""


def connect(url: str) -> AsyncMongoClient[Document]:
    """A client for the running event loop; it speaks to the server when it is first used."""
    return AsyncMongoClient(url, tz_aware=True, **mongo_time_outs(url))


def database_of(client: AsyncMongoClient[Document]) -> Database:
    """The database that the client's URL names, read from its primary.

    Writes are durable unless the URL asks for less (`?journal=false`); unacknowledged they never are.
    """
    asked = client.write_concern
    concern = asked if asked.document and asked.acknowledged else _DURABLE
    name = client.get_default_database(MONGO_DATABASE).name
    return client.get_database(name, read_preference=ReadPreference.PRIMARY, write_concern=concern)
