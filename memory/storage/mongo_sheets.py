"""Sheets and pending cycles in MongoDB: plain functions of a database, each change a single atomic write."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pymongo.errors import DuplicateKeyError

from thoughtcycle.memory.records import Cycle, named_id
from thoughtcycle.memory.storage.mongo_client import Database, Document
from thoughtcycle.memory.storage.mongo_documents import escaped, unescaped
from thoughtcycle.memory.storage.mongo_epochs import epoch
from thoughtcycle.memory.storage.mongo_ledger import find_in
from thoughtcycle.memory.storage.mongo_transcript import TRANSCRIPTS
from thoughtcycle.memory.storage.sheet_port import Sheet, SheetKind, SheetName, stored_time
from thoughtcycle.prompts.errors import NotAllowed


async def sheets(db: Database, user: str, names: Sequence[SheetName]) -> list[Sheet]:
    """See SheetStorage.sheets."""
    ids = [_id(user, name) for name in names]
    found = find_in(db.sheets, {"user_id": escaped(user)}, "_id", ids)
    return [_sheet(one) async for one in found]


async def put(db: Database, user: str, name: SheetName, document: str, before: int, at: datetime) -> bool:
    """See SheetStorage.put_sheet. What comes while the user is forgotten is taken back."""
    began = await epoch(db, user)
    if not await _put(db, user, name, document, before, at):
        return False
    if await epoch(db, user) != began:
        await db.sheets.delete_one({"_id": _id(user, name), "revision": before + 1})
        raise NotAllowed("user_forgotten")
    return True


async def drop(db: Database, user: str, name: SheetName, at: datetime) -> None:
    """See SheetStorage.drop_sheet."""
    while True:
        found = await db.sheets.find_one({"_id": _id(user, name)}, {"revision": 1})
        if await _put(db, user, name, None, found["revision"] if found else 0, at):
            return


async def _put(
    db: Database, user: str, name: SheetName, document: str | None, before: int, at: datetime
) -> bool:
    fields = {"revision": before + 1, "updated_at": stored_time(at), "document": document}
    if before:
        mine = {"_id": _id(user, name), "user_id": escaped(user), "revision": before}
        return bool((await db.sheets.update_one(mine, {"$set": fields})).matched_count)
    kind, id = name
    chat = {"chat_id": id} if kind == "conversation" else {}
    names = escaped({"_id": _id(user, name), "user_id": user, "kind": kind, "name": id, **chat})
    try:
        await db.sheets.insert_one({**names, **fields})
    except DuplicateKeyError:
        return False
    return True


async def page(db: Database, user: str, kind: SheetKind, limit: int, offset: int) -> list[Sheet]:
    """See SheetStorage.sheet_page."""
    query = {"user_id": escaped(user), "kind": kind, "document": {"$ne": None}}
    found = db.sheets.find(query).sort([("updated_at", -1), ("name", -1)]).skip(offset).limit(limit)
    return [_sheet(one) async for one in found]


async def pending_cycles(db: Database, user: str | None, limit: int) -> list[Cycle]:
    """See SheetStorage.pending_cycles."""
    query: Document = {"formation": "pending"}
    if user is not None:
        await TRANSCRIPTS.settled(db, user)
        query["user_id"] = escaped(user)
    found = db.cycles.find(query).sort([("opened", 1), ("number", 1)]).limit(limit)
    return [Cycle.model_validate_json(one["document"]) async for one in found]


async def pending_users(db: Database, limit: int) -> list[str]:
    """See SheetStorage.pending_users."""
    steps: list[dict[str, Any]] = [
        {"$match": {"formation": "pending"}},
        {"$group": {"_id": "$user_id", "opened": {"$min": "$opened"}}},
        {"$sort": {"opened": 1, "_id": 1}},
        {"$limit": limit},
    ]
    return [str(unescaped(one["_id"])) async for one in await db.cycles.aggregate(steps)]


def _id(user: str, name: SheetName) -> str:
    return named_id("sheet", user, *name)


def _sheet(found: Document) -> Sheet:
    return Sheet(
        user=unescaped(found["user_id"]),
        kind=found["kind"],
        id=unescaped(found["name"]),
        revision=found["revision"],
        updated=datetime.fromisoformat(found["updated_at"]),
        document=found["document"],
    )
