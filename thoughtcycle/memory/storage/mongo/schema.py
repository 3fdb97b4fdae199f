"""The collections in MongoDB and their indexes: numbered migrations, which are only ever appended to."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pymongo import IndexModel
from pymongo.errors import DuplicateKeyError

from thoughtcycle.errors import StorageUnusable
from thoughtcycle.memory.storage.legacy_documents import divided, settings_of
from thoughtcycle.memory.storage.mongo.client import Database


@dataclass(frozen=True)
class Index:
    """An index of a collection, ascending on all fields."""

    collection: str
    fields: tuple[str, ...]
    unique: bool = False
    only: Mapping[str, Any] | None = None
    """Restricts the index to documents that match."""

    @property
    def model(self) -> IndexModel:
        """The index for the driver."""
        options: dict[str, Any] = {"unique": True} if self.unique else {}
        if self.only is not None:
            options["partialFilterExpression"] = self.only
        return IndexModel([(field, 1) for field in self.fields], **options)


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
    (Index("jobs", ("free",)), Index("jobs", ("user_id", "state"))),
    (Index("memories", ("status",), only={"status": "hidden"}), Index("tombstones", ("user_id",))),
    (
        Index("sheets", ("chat_id",), unique=True, only={"chat_id": {"$type": "string"}}),
        Index("sheets", ("user_id",)),
        Index("sheets", ("user_id", "kind", "updated_at")),
        Index("cycles", ("formation",), only={"formation": "pending"}),
        Index("cycles", ("formation", "user_id", "opened"), only={"formation": "pending"}),
    ),
    (Index("files", ("user_id",)), Index("files", ("hash",))),
    (Index("channel_links", ("user_id",)), Index("link_codes", ("user_id",))),
    (),
    (
        Index("documents", ("chat_id",), unique=True, only={"chat_id": {"$type": "string"}}),
        Index("documents", ("user_id",)),
        Index("documents", ("user_id", "kind", "updated_at")),
        Index("settings", ("user_id",)),
    ),
)


_ESCAPED = (
    *("memories", "vectors", "journal", "accesses", "conversations", "cycles", "message_vectors", "jobs"),
    *("sheets", "tombstones", "erasure_keys", "files", "channel_links", "link_codes", "spaces"),
    "transcripts",
)
"""Collections in which U+0000 stood as U+2400 and "0", and U+2400 as U+2400 and "1", before migration 8."""


async def _unescape(db: Database) -> None:
    """Replaces the escapes by their characters, except U+0000, which goes."""
    for name in _ESCAPED:
        aside = {"data": 0, "log": 0} | ({} if name == "tombstones" else {"document": 0})  # not escaped
        async for found in db[name].find({}, aside):
            plain = _unescaped(found)
            if (id := plain.pop("_id")) != found["_id"]:
                whole = await db[name].find_one({"_id": found["_id"]}) or found
                await db[name].replace_one({"_id": id}, {**whole, **plain, "_id": id}, upsert=True)
                await db[name].delete_one({"_id": found["_id"]})
            elif any(plain[field] != found[field] for field in plain):
                await db[name].update_one({"_id": id}, {"$set": plain})


def _unescaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\u24000", "").replace("\u24001", "\u2400") if "\u2400" in value else value
    if isinstance(value, dict):
        return {name: _unescaped(item) for name, item in value.items()}
    return [_unescaped(item) for item in value] if isinstance(value, list) else value


async def _divide_sheets(db: Database) -> None:
    """Splits each sheet, with or without its annex, into a document and entries; those that exist stay."""
    async for sheet in db.sheets.find({}):
        if (sheet.get("kind"), sheet.get("document")) == ("settings", None):
            continue
        if sheet.get("kind") == "settings":
            user, revision = sheet.get("user_id"), sheet.get("revision")
            known = {"_id": user, "user_id": user, "revision": revision}
            found, moved = db.settings, {**known, **settings_of(sheet.get("document"))}
        else:
            text, annex, entries = sheet.get("document"), sheet.pop("annex", None), dict[str, Any]()
            if sheet.get("kind") == "conversation":
                text, entries = divided(text, annex)
            rows = {f"entries_{part}": found for part, found in entries.items()}
            found, moved = db.documents, {**sheet, "document": text, **rows}
        try:
            await found.insert_one(moved)
        except DuplicateKeyError:
            continue  # another process did the same meanwhile
    await db.sheets.drop()


CONVERSIONS: Mapping[int, Callable[[Database], Awaitable[None]]] = {8: _unescape, 9: _divide_sheets}
"""Migration → its work beside indexes."""


async def migrate(db: Database, place: str) -> None:
    """Brings the indexes up to date; several processes may do it at the same time.

    Raises StorageUnusable('schema_newer') when a newer program wrote the database.
    """
    for number in range(await _version(db, place) + 1, len(MIGRATIONS) + 1):
        for collection, indexes in groupby(MIGRATIONS[number - 1], lambda index: index.collection):
            await db[collection].create_indexes([index.model for index in indexes])
        if number in CONVERSIONS:
            await CONVERSIONS[number](db)
        try:
            await db.schema_versions.insert_one({"_id": number})
        except DuplicateKeyError:
            continue  # another process did the same meanwhile


async def _version(db: Database, place: str) -> int:
    numbers = [found["_id"] async for found in db.schema_versions.find({})]
    found = max(numbers, default=0)
    if found > len(MIGRATIONS):
        raise StorageUnusable("schema_newer", place=place, found=found, known=len(MIGRATIONS))
    return found
