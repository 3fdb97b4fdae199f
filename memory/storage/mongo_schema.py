"""The collections in MongoDB and their indexes: numbered migrations, which are only ever appended to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pymongo import IndexModel
from pymongo.errors import DuplicateKeyError

from thoughtcycle.memory.storage.mongo_client import Database
from thoughtcycle.prompts.errors import StorageFailed


@dataclass(frozen=True)
class Index:
    """An index of a collection, ascending on all fields."""

    collection: str
    fields: tuple[str, ...]
    unique: bool = False
    only: Mapping[str, Any] | None = None
    """Index just the documents that fit."""


MIGRATIONS: Sequence[Sequence[Index]] = (
    (
        Index("memories", ("memoriesId", "activeKey"), unique=True, only={"activeKey": {"$type": "string"}}),
        Index("memories", ("memoriesId", "status", "revision")),
        Index("memories", ("identity",)),
        Index("memories", ("source.cycle",)),
        Index("memories", ("current",)),
        Index("vectors", ("nosqlId",)),
        Index("vectors", ("memoriesId", "model")),
        Index("journal", ("space", "number"), unique=True),
        Index("journal", ("space", "memory", "number")),
        Index("conversations", ("chat_id",), unique=True),
        Index("conversations", ("user_id",)),
        Index("conversations", ("user_id", "updated_at")),
        Index("cycles", ("chat_id",)),
        Index("cycles", ("open", "heartbeat")),
        Index("cycles", ("user_id", "number")),
        Index("message_vectors", ("cycle",)),
    ),
    (Index("accesses", ("memoriesId",)),),
    (
        Index("jobs", ("free",)),
        Index("jobs", ("user_id", "state")),
    ),
    (
        Index("memories", ("status",), only={"status": "hidden"}),
        Index("tombstones", ("user_id",)),
    ),
    (
        Index("sheets", ("chat_id",), unique=True, only={"chat_id": {"$type": "string"}}),
        Index("sheets", ("user_id",)),
        Index("sheets", ("user_id", "kind", "updated_at")),
        Index("cycles", ("formation",), only={"formation": "pending"}),
        Index("cycles", ("formation", "user_id", "opened"), only={"formation": "pending"}),
    ),
    (
        Index("files", ("user_id",)),
        Index("files", ("hash",)),
    ),
    (
        Index("channel_links", ("user_id",)),
        Index("link_codes", ("user_id",)),
    ),
)


async def migrate(db: Database, place: str) -> None:
    """Brings the indexes up to date; several processes may do it at the same time.

    Raises StorageFailed('schema_newer') when a newer program wrote the database.
    """
    for number in range(await _version(db, place) + 1, len(MIGRATIONS) + 1):
        for collection, indexes in groupby(MIGRATIONS[number - 1], lambda index: index.collection):
            await db[collection].create_indexes([_model(index) for index in indexes])
        try:
            await db.schema_versions.insert_one({"_id": number})
        except DuplicateKeyError:
            continue  # another process did the same meanwhile


def _model(index: Index) -> IndexModel:
    options: dict[str, Any] = {"unique": True} if index.unique else {}
    if index.only is not None:
        options["partialFilterExpression"] = index.only
    return IndexModel([(field, 1) for field in index.fields], **options)


async def _version(db: Database, place: str) -> int:
    numbers = [found["_id"] async for found in db.schema_versions.find({})]
    found = max(numbers, default=0)
    if found > len(MIGRATIONS):
        raise StorageFailed("schema_newer", place=place, found=found, known=len(MIGRATIONS))
    return found
