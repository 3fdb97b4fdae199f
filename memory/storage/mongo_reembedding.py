"""Vectors of former embedding models in MongoDB: plain functions of a database."""

from thoughtcycle.memory.storage.mongo_client import Database
from thoughtcycle.memory.storage.mongo_documents import escaped


async def drop_message_vectors(db: Database, user: str, keep: str) -> None:
    """See Storage.drop_message_vectors."""
    await db.message_vectors.delete_many({"user_id": escaped(user), "model": {"$ne": escaped(keep)}})
