"""Sheets and pending cycles in MongoDB: plain functions of a database, each change a single atomic write."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pymongo.errors import DuplicateKeyError

from thoughtcycle.memory.ids import named_id
from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.storage.mongo_client import Database, Document
from thoughtcycle.memory.storage.mongo_documents import escaped, unescaped
from thoughtcycle.memory.storage.mongo_epochs import epoch
from thoughtcycle.memory.storage.mongo_ledger import find_in
from thoughtcycle.memory.storage.mongo_transcript import TRANSCRIPTS
from thoughtcycle.memory.storage.sheet_port import Sheet, SheetKind, SheetName, as_sheet, stored_time
from thoughtcycle.prompts.errors import NotAllowed

_PLAIN: Document = {"revision": 1, "updated_at": 1, "document": 1}
"""What is read of a sheet without its annex."""


async def sheets(db: Database, user: str, names: Sequence[SheetName], annexes: bool) -> list[Sheet]:
    """See SheetStorage.sheets."""
    asked = {_id(user, name): name for name in names}
    found = find_in(db.sheets, {}, "_id", list(asked), None if annexes else _PLAIN)
    return [_sheet(one, user, asked[one["_id"]]) async for one in found]


async def put(
    db: Database, user: str, name: SheetName, document: str, before: int, at: datetime, annex: str | None
) -> bool:
    """See SheetStorage.put_sheet. What comes while the user is forgotten is taken back."""
    began = await epoch(db, user)
    if not await _put(db, user, name, _content(document, before, at, annex), before):
        return False
    if await epoch(db, user) != began:
        await db.sheets.delete_one({"_id": _id(user, name), "revision": before + 1})
        raise NotAllowed("user_forgotten")
    return True


async def drop(db: Database, user: str, name: SheetName, at: datetime) -> None:
    """See SheetStorage.drop_sheet."""
    while True:
        found = await db.sheets.find_one({"_id": _id(user, name)}, {"revision": 1})
        if found is None:
            if await _put(db, user, name, _content(None, 0, at, ""), 0) or await db.sheets.find_one(
                _strays(user, name)
            ):
                return  # what stands in its way is the sheet of the chat's owner
            continue
        before = as_sheet(user, *name, revision=found.get("revision"), updated=None, document=None).revision
        mine = {"_id": found["_id"], "revision": found.get("revision")}
        changed = {"$set": {**_named(user, name), **_content(None, before, at, "")}}
        if (await db.sheets.update_one(mine, changed)).matched_count:
            return


async def _put(db: Database, user: str, name: SheetName, fields: Document, before: int) -> bool:
    """The `_id` says whose sheet it is and of what: whatever else was edited by hand is put right."""
    id, names = _id(user, name), _named(user, name)
    if before:
        changed = await db.sheets.update_one({"_id": id, "revision": before}, {"$set": {**names, **fields}})
        return bool(changed.matched_count)
    if name[0] == "conversation" and await db.conversations.find_one(
        {**_of(user), "chat_id": names["chat_id"]}
    ):
        await db.sheets.update_many(_strays(user, name), {"$unset": {"chat_id": ""}})
    try:
        await db.sheets.insert_one({"_id": id, **names, **fields})
    except DuplicateKeyError:
        return False
    return True


def _named(user: str, name: SheetName) -> Document:
    kind, id = name
    chat = {"chat_id": id} if kind == "conversation" else {}
    named: Document = escaped({"user_id": user, "kind": kind, "name": id, **chat})
    return named


def _content(document: str | None, before: int, at: datetime, annex: str | None) -> Document:
    fields: Document = {"revision": before + 1, "updated_at": stored_time(at), "document": document}
    return fields if annex is None else {**fields, "annex": annex or None}


def _of(user: str) -> Document:
    return {"user_id": escaped(user)}


def _strays(user: str, name: SheetName) -> Document:
    """Documents that stand in the place of the sheet of a chat and are none of the user's."""
    return {"chat_id": escaped(name[1]), "_id": {"$ne": _id(user, name)}}


async def page(db: Database, user: str, kind: SheetKind, limit: int, offset: int) -> list[Sheet]:
    """See SheetStorage.sheet_page."""
    query = {"user_id": escaped(user), "kind": kind, "document": {"$ne": None}}
    found = db.sheets.find(query).sort([("updated_at", -1), ("name", -1)]).skip(offset).limit(limit)
    return [
        _sheet(one, user, (kind, name))
        async for one in found
        if isinstance(name := unescaped(one.get("name")), str) and one["_id"] == _id(user, (kind, name))
    ]


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


def _sheet(found: Document, user: str, name: SheetName) -> Sheet:
    return as_sheet(
        user,
        *name,
        revision=found.get("revision"),
        updated=found.get("updated_at"),
        document=found.get("document"),
        annex=found.get("annex"),
    )
