"""Whole commits on MongoDB without transactions: one document per owner is lock, counter and redo log.

A writer reads the number in that document, checks what it expects elsewhere, and then puts all that it is
going to write into the document, if the number is still the same. This one atomic write decides the commit.
What it promised is carried out by steps that anybody may repeat at any time; the last one releases the
document. One that stays taken belongs to somebody who died: whoever comes next carries out the rest.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from random import random
from time import monotonic
from typing import Any, TypeVar

import bson
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import BulkWriteError, DuplicateKeyError

from thoughtcycle.errors import StorageLocked
from thoughtcycle.memory.storage.epochs import hashed
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
    """What a commit promised: entries numbered up to `last`."""

    owner: str
    last: int
    entries: Sequence[Document]


@dataclass(frozen=True)
class Ledger:
    """The commits of one kind; each owner's happen one after the other."""

    collection: str
    carry_out: Callable[[Database, Log], Awaitable[None]]
    """Does what a log says, and nothing that was done already or is overtaken by a later commit."""
    take_back: Callable[[Database, Log], Awaitable[None]]
    """Removes what steps that came too late brought back."""

    async def write(
        self,
        db: Database,
        owner: str,
        plan: Callable[[int], Awaitable[tuple[Sequence[Document], T]]],
        place: str,
    ) -> T:
        """Commits the entries that `plan` makes of the last number; gives what it tells beside them.

        `plan` reads what the commit depends on; it is called again when another writer was faster.
        """
        until = monotonic() + BUSY_SECONDS
        while True:
            number = await self.settled(db, owner)
            entries, told = await plan(number)
            if not entries:
                return told
            log = Log(owner, number + len(entries), entries)
            if await self._decide(db, log, number):
                await self._finish(db, log)
                return told
            if monotonic() > until:
                raise StorageLocked(place)
            await asyncio.sleep(random() * _POLL_SECONDS)

    async def settled(self, db: Database, owner: str) -> int:
        """The owner's last number, once all up to it is carried out; the `base` when there is none."""
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
            elif (left := await self.read(db, owner)) is not None:
                await self._finish(db, left)

    async def read(self, db: Database, owner: str) -> Log | None:
        """What is decided and perhaps not carried out; None when the owner's document is free."""
        found = await db[self.collection].find_one({"_id": owner})
        if found is None or not found["busy"]:
            return None
        return Log(found["_id"], found["number"], bson.decode_all(found["log"]))

    async def _decide(self, db: Database, log: Log, number: int) -> bool:
        """The one write that makes a commit true; False when another one was faster.

        Where there is nothing to change the document is new: the first one, or the first since the owner was
        forgotten. A writer of the time before knows a number below the base.
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
        await self.carry_out(db, log)
        mine = {"_id": log.owner, "number": log.last, "busy": True}
        free = {"$set": {"busy": False, "log": None}}
        if not (await db[self.collection].update_one(mine, free)).matched_count:
            await self.take_back(db, log)


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
            only_duplicates(error)


def only_duplicates(error: BulkWriteError) -> None:
    """Raises `error` unless all that it tells of is documents that are there already."""
    failures: list[Any] = error.details.get("writeErrors") or []
    if error.details.get("writeConcernErrors") or any(one.get("code") != _DUPLICATE for one in failures):
        raise error


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
