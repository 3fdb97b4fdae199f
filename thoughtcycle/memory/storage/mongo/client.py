"""What every connection to MongoDB has in common: the database's name, and how long to wait for an answer."""

from typing import Any

from pymongo import AsyncMongoClient, ReadPreference, WriteConcern
from pymongo.asynchronous.database import AsyncDatabase

DEFAULT_DATABASE = "thoughtcycle"
"""Used when the URL's path names no database."""
ANSWER_SECONDS = 5.0
"""How long to wait for a server to be found, where the URL sets no time-out of its own."""
SILENCE_SECONDS = 30.0
"""How long a server that was reached may stay silent, where the URL sets no time-out of its own."""

Document = dict[str, Any]
Database = AsyncDatabase[Document]

_DURABLE = WriteConcern("majority", j=True)
"""An acknowledged write is in the journal of most members (of the only one, on a standalone server)."""


def time_outs(url: str) -> dict[str, Any]:
    """Client options, in milliseconds; what the URL itself sets goes before them."""
    ours = {
        "serverSelectionTimeoutMS": int(ANSWER_SECONDS * 1000),
        "socketTimeoutMS": int(SILENCE_SECONDS * 1000),
    }
    return {name: value for name, value in ours.items() if name.lower() not in url.lower()}


def connect(url: str) -> AsyncMongoClient[Document]:
    """A client for the running event loop; it speaks to the server when it is first used."""
    return AsyncMongoClient(url, tz_aware=True, **time_outs(url))


def database_of(client: AsyncMongoClient[Document]) -> Database:
    """The database that the client's URL names, read from its primary.

    Writes are durable unless the URL asks for less (`?journal=false`); unacknowledged they never are.
    """
    asked = client.write_concern
    concern = asked if asked.document and asked.acknowledged else _DURABLE
    name = client.get_default_database(DEFAULT_DATABASE).name
    return client.get_database(name, read_preference=ReadPreference.PRIMARY, write_concern=concern)
