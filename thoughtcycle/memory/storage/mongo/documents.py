"""Documents with their entries, and settings, in MongoDB: each change is a single atomic write.

The entries of a conversation are fields of its document, one per part: without transactions, nothing else
is written together with it.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo.errors import DuplicateKeyError

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.model import named_id
from thoughtcycle.memory.storage.base.documents import (
    SETTINGS,
    DocumentKind,
    DocumentName,
    Documents,
    Entries,
    StoredDocument,
    as_document,
    revision_of,
    stored_time,
)
from thoughtcycle.memory.storage.mongo.client import Database, Document
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing
from thoughtcycle.memory.storage.mongo.ledger import find_in, forgotten

_PART = "entries_"
"""Prefix of the fields of entries."""


class MongoDocuments(Documents, Repository):
    @reading
    async def find(
        self, db: Database, user: str, names: Sequence[DocumentName], *, parts: Collection[str] | None = None
    ) -> list[StoredDocument]:
        asked, partial = {document_id(user, name): name for name in names}, parts is not None
        shown = ("revision", "updated_at", "document", *(f"{_PART}{part}" for part in parts or ()))
        found = find_in(db.documents, {}, "_id", list(asked), dict.fromkeys(shown, 1) if partial else None)
        return [_document(one, user, asked[one["_id"]], partial) async for one in found]

    @writing
    async def put(
        self,
        db: Database,
        user: str,
        name: DocumentName,
        document: str,
        *,
        before: int,
        at: datetime,
        entries: Entries | None = None,
    ) -> bool:
        """Takes the document back where the user is forgotten meanwhile."""
        began = await self._database.check_epoch(user)
        if not await _put(db, user, name, _content(document, before, at, entries or {}), before):
            return False
        if (await forgotten(db, user)).epoch != began:
            await db.documents.delete_one({"_id": document_id(user, name), "revision": before + 1})
            raise NotAllowed("user_forgotten")
        return True

    @writing
    async def drop(self, db: Database, user: str, name: DocumentName, *, at: datetime) -> None:
        await self._database.check_epoch(user)
        while True:
            found = await db.documents.find_one({"_id": document_id(user, name)}, {"revision": 1})
            if found is None:
                if await _put(db, user, name, _content(None, 0, at, {}), 0) or await db.documents.find_one(
                    _strays(user, name)
                ):
                    return  # the document of the chat's owner is in the way
                continue
            mine = {"_id": found["_id"], "revision": (known := found.get("revision"))}
            changed = {**_named(user, name), **_content(None, revision_of(known), at, {})}
            if (await db.documents.replace_one(mine, changed)).matched_count:
                return

    @reading
    async def page(
        self, db: Database, user: str, kind: DocumentKind, *, limit: int, offset: int
    ) -> list[StoredDocument]:
        query = {"user_id": user, "kind": kind, "document": {"$ne": None}}
        found = db.documents.find(query).sort([("updated_at", -1), ("name", -1)]).skip(offset).limit(limit)
        return [
            _document(one, user, (kind, name), False)
            async for one in found
            if isinstance(name := one.get("name"), str) and one["_id"] == document_id(user, (kind, name))
        ]

    @reading
    async def settings(self, db: Database, user: str) -> Mapping[str, Any] | None:
        return await _settings(db, user)

    @writing
    async def change_settings(self, db: Database, user: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        changed: Document = {}
        async with self._database.same_epoch(user, lambda: db.settings.delete_one({"_id": user})):
            while not changed:
                changed = await _changed(db, user, fields)
        return changed


async def _put(db: Database, user: str, name: DocumentName, fields: Document, before: int) -> bool:
    """Writes a document by its `_id`, which names it; corrects the other names after an edit by hand."""
    id, names = document_id(user, name), _named(user, name)
    if before:
        changes = {"$set": {**names, **fields}}
        changed = await db.documents.update_one({"_id": id, "revision": before}, changes)
        return bool(changed.matched_count)
    if name[0] == "conversation" and await db.conversations.find_one(
        {"user_id": user, "chat_id": names["chat_id"]}
    ):
        await db.documents.update_many(_strays(user, name), {"$unset": {"chat_id": ""}})
    try:
        await db.documents.insert_one({"_id": id, **names, **fields})
    except DuplicateKeyError:
        return False
    return True


async def _settings(db: Database, user: str) -> Document | None:
    found = await db.settings.find_one({"_id": user})
    return {name: found[name] for name in SETTINGS if name in found} if found is not None else None


async def _changed(db: Database, user: str, fields: Mapping[str, Any]) -> Document:
    """The settings with these fields; {} where another writer was faster."""
    known = await _settings(db, user)
    number = known.get("revision") if known else 0
    changed = {**(known or {}), **fields, "revision": revision_of(number) + 1}
    if known is not None:
        mine = {"_id": user, "revision": number}
        return changed if (await db.settings.update_one(mine, {"$set": changed})).matched_count else {}
    try:
        await db.settings.insert_one({"_id": user, "user_id": user, **changed})
    except DuplicateKeyError:
        return {}
    return changed


def _named(user: str, name: DocumentName) -> Document:
    kind, id = name
    chat = {"chat_id": id} if kind == "conversation" else {}
    return {"user_id": user, "kind": kind, "name": id, **chat}


def _content(document: str | None, before: int, at: datetime, entries: Entries) -> Document:
    rows = {f"{_PART}{part}": rows for part, rows in entries.items()}
    return {"revision": before + 1, "updated_at": stored_time(at), "document": document, **rows}


def _strays(user: str, name: DocumentName) -> Document:
    """Matches documents in the place of this one, that of a chat, which are not the user's."""
    return {"chat_id": name[1], "_id": {"$ne": document_id(user, name)}}


def document_id(user: str, name: DocumentName) -> str:
    """The `_id` of a document; it keeps the former name of documents."""
    return named_id("sheet", user, *name)


def _document(found: Document, user: str, name: DocumentName, partial: bool) -> StoredDocument:
    entries = {key.removeprefix(_PART): rows for key, rows in found.items() if key.startswith(_PART)}
    stored = [found.get(key) for key in ("revision", "updated_at", "document")]
    return as_document(user, name, stored, entries, partial)
