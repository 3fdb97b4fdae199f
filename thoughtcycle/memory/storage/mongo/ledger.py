"""Whole commits on MongoDB without transactions: one document per owner is lock, counter and redo log.

A writer reads the number in that document, checks what it expects elsewhere, and then puts all that it is
going to write into the document, if the number is still the same. This one atomic write decides the commit.
The writes follow in idempotent steps, which any process may repeat; the last one releases the document. A
document that stays taken belongs to a writer that died: the next reader or writer carries out the rest.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import random
from time import monotonic
from typing import Any, TypeVar

import bson
from pymongo import UpdateOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import BulkWriteError, DuplicateKeyError

from thoughtcycle.errors import StorageLocked
from thoughtcycle.memory.storage.epochs import Forgotten, hashed
from thoughtcycle.memory.storage.mongo.client import Database, Document

BUSY_SECONDS = 30.0
"""How long a writer tries to get its turn."""
HELP_SECONDS = 0.5
"""How long a commit may take before others carry it out too."""
_POLL_SECONDS = 0.005
_CHUNK = 500
_DUPLICATE = 11_000

T = TypeVar("T")


@dataclass(frozen=True)
class Log:
    """The redo log of a commit: entries numbered up to `last`."""

    owner: str
    last: int
    entries: Sequence[Document]


@dataclass(frozen=True)
class Ledger:
    """The commits of one kind; each owner's happen one after the other."""

    collection: str
    apply_writes: Callable[[Database, Log], Awaitable[None]]
    """Applies a redo log idempotently; skips entries that a later commit superseded."""
    take_back: Callable[[Database, Log], Awaitable[None]]
    """Deletes documents that steps of a late writer brought back."""

    async def write(
        self,
        db: Database,
        owner: str,
        plan: Callable[[int], Awaitable[tuple[Sequence[Document], T]]],
        place: str,
    ) -> T:
        """Commits the entries that `plan` makes of the last number; returns its second result.

        `plan` reads what the commit depends on; it is called again when another writer was faster.
        """
        until = monotonic() + BUSY_SECONDS
        while True:
            number = await self.recover(db, owner)
            entries, result = await plan(number)
            if not entries:
                return result
            log = Log(owner, number + len(entries), entries)
            if await self._decide(db, log, number):
                await self._finish(db, log)
                return result
            if monotonic() > until:
                raise StorageLocked(place)
            await asyncio.sleep(random() * _POLL_SECONDS)

    async def recover(self, db: Database, owner: str) -> int:
        """Waits for the owner's last commit, or carries it out where its writer died; returns its number.

        The `base` when there is none.
        """
        seen, since = 0, 0.0
        while True:
            found = await db[self.collection].find_one({"_id": owner}, {"number": 1, "busy": 1})
            if found is None:
                return await base(db, self.collection, owner)
            if not found["busy"]:
                return int(found["number"])
            if found["number"] != seen:
                seen, since = found["number"], monotonic()
            if monotonic() - since < HELP_SECONDS:
                await asyncio.sleep(_POLL_SECONDS)
            elif (log := await self.read(db, owner)) is not None:
                await self._finish(db, log)

    async def read(self, db: Database, owner: str) -> Log | None:
        """The commit that is decided and perhaps not carried out; None when the owner's document is free."""
        found = await db[self.collection].find_one({"_id": owner})
        if found is None or not found["busy"]:
            return None
        return Log(found["_id"], found["number"], bson.decode_all(found["log"]))

    async def _decide(self, db: Database, log: Log, number: int) -> bool:
        """Stores the redo log, which decides the commit; False when another writer was faster.

        A missing document is made: it is the owner's first one, or the first since the owner was forgotten. A
        writer of the time before knows a number below the base.
        """
        taken = {"number": log.last, "busy": True, "log": b"".join(map(bson.encode, log.entries))}
        if number:
            query = {"_id": log.owner, "number": number}
            if (await db[self.collection].update_one(query, {"$set": taken})).matched_count:
                return True
            if number != await base(db, self.collection, log.owner):
                return False
        try:
            await db[self.collection].insert_one({"_id": log.owner, **taken})
        except DuplicateKeyError:
            return False
        return True

    async def _finish(self, db: Database, log: Log) -> None:
        await self.apply_writes(db, log)
        mine = {"_id": log.owner, "number": log.last, "busy": True}
        free = {"$set": {"busy": False, "log": None}}
        if not (await db[self.collection].update_one(mine, free)).matched_count:
            await self.take_back(db, log)


async def forgotten(db: Database, user: str) -> Forgotten:
    """The trace of the user, if they were forgotten."""
    found = await db.forgotten.find_one({"_id": hashed(user)})
    if found is None:
        return Forgotten()
    at = datetime.fromisoformat(found["at"]) if found.get("at") else None
    return Forgotten(int(found["epoch"]), int(found.get("spaces", 0)), int(found.get("transcripts", 0)), at)


async def base(db: Database, collection: str, owner: str) -> int:
    """The number behind which the commits of a new document begin; all up to it are forgotten."""
    found = await db.forgotten.find_one({"_id": hashed(owner)}, {collection: 1})
    return int(found.get(collection, 0)) if found is not None else 0


async def insert_new(collection: AsyncCollection[Document], documents: Sequence[Document]) -> None:
    """Inserts those that are not there yet."""
    if documents:
        try:
            await collection.insert_many(documents, ordered=False)
        except BulkWriteError as error:
            _only_duplicates(error)


def _only_duplicates(error: BulkWriteError) -> None:
    """Raises `error` unless all its failures are documents that are there already."""
    failures: list[Any] = error.details.get("writeErrors") or []
    if error.details.get("writeConcernErrors") or any(one.get("code") != _DUPLICATE for one in failures):
        raise error


async def upsert_newer(collection: AsyncCollection[Document], updates: Sequence[UpdateOne]) -> None:
    """Does upserts that match older versions only: where a newer one is there, its id is a duplicate."""
    if updates:
        try:
            await collection.bulk_write(updates, ordered=False)
        except BulkWriteError as error:
            _only_duplicates(error)


async def find_in(
    collection: AsyncCollection[Document],
    query: Document,
    field: str,
    values: Collection[str],
    shown: Document | None = None,
) -> AsyncIterator[Document]:
    """Documents that fit `query` and whose `field` is one of `values`."""
    wanted = list(dict.fromkeys(values))
    for start in range(0, len(wanted), _CHUNK):
        some = wanted[start : start + _CHUNK]
        condition = some[0] if len(some) == 1 else {"$in": some}  # not every server has an index for $in
        async for found in collection.find({**query, field: condition}, shown):
            yield found
