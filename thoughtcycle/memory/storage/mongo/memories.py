"""Memories, vectors and journal in MongoDB."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from pymongo import UpdateOne

from thoughtcycle.memory.model import STATUSES, Access, JournalEntry, MemoryRecord, Status, Vector
from thoughtcycle.memory.storage.base.memories import (
    Block,
    ExistingRecords,
    Feed,
    Lookup,
    Memories,
    Names,
    StoredItem,
    Write,
)
from thoughtcycle.memory.storage.mongo.client import Database, Document
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing
from thoughtcycle.memory.storage.mongo.ledger import base, find_in, insert_new
from thoughtcycle.memory.storage.mongo.memory_commit import MEMORIES, PROVISIONAL, commit
from thoughtcycle.memory.storage.mongo.serialization import (
    journal_record,
    memory_record,
    plain_fields,
    vector_record,
)
from thoughtcycle.memory.storage.serialization import (
    ENTRY_FIELDS,
    ITEM_FIELDS,
    SEARCHED,
    blocks_of,
    entries_of,
    item_of,
    was_valid,
)

R = TypeVar("R")


class MongoMemories(Memories, Repository):
    @writing
    async def commit(self, db: Database, space: str, writes: Sequence[Write]) -> list[MemoryRecord]:
        if not writes:
            return []
        await self._database.check_epoch(space)
        async with self._database.turn(MEMORIES.collection, space):
            return await commit(db, space, writes, self._database.place)

    async def save(
        self, space: str, lookup: Lookup, plan: Callable[[ExistingRecords], tuple[Sequence[Write], R]]
    ) -> tuple[list[MemoryRecord], R]:
        found = await self.same(space, identities=lookup.identities, keys=lookup.keys)
        existing = ExistingRecords([*found, *await self.records(space, lookup.ids)])
        if merged := existing.merged():
            existing = ExistingRecords([*existing.records, *await self.records(space, merged)])
        if holding := existing.holding(lookup.keys):
            existing = ExistingRecords(existing.records, await self.vectors(space, holding))
        writes, result = plan(existing)
        return await self.commit(space, writes), result

    @reading
    async def records(self, db: Database, space: str, ids: Sequence[str]) -> list[MemoryRecord]:
        stored = await documents(db, space, "_id", ids)
        if any(document["status"] == PROVISIONAL for document in stored):
            await MEMORIES.recover(db, space)
            stored = await documents(db, space, "_id", ids)
        found = {record.id: record for record in records_of(stored)}
        return [found[id] for id in dict.fromkeys(ids) if id in found]

    @reading
    async def same(
        self, db: Database, space: str, *, identities: Collection[str], keys: Collection[str]
    ) -> list[MemoryRecord]:
        await MEMORIES.recover(db, space)
        found = await documents(db, space, "identity", identities, {"status": "active"})
        found += await documents(db, space, "activeKey", keys)
        return list({record.id: record for record in records_of(found)}.values())

    @reading
    async def versions(self, db: Database, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        await MEMORIES.recover(db, space)
        kept: list[Status] = [status for status in STATUSES if status != "erased"]
        found = records_of(await documents(db, space, "current", ids, {"status": {"$in": kept}}))
        return sorted(found, key=lambda one: (one.valid_to or one.valid_from, one.revision), reverse=True)

    @reading
    async def of_cycles(self, db: Database, space: str, cycles: Collection[str]) -> list[MemoryRecord]:
        await MEMORIES.recover(db, space)
        shown = {"status": {"$in": ["active", "archived", "hidden"]}}
        return records_of(await documents(db, space, "source.cycle", cycles, shown))

    @reading
    async def listing(
        self,
        db: Database,
        space: str,
        statuses: Collection[Status],
        *,
        key: str | None = None,
        after: int | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[MemoryRecord]:
        await MEMORIES.recover(db, space)
        if limit == 0:
            return []  # to MongoDB, no limit at all
        query: Document = {"memoriesId": space, "status": {"$in": list(statuses)}}
        if key is not None:
            query["key"] = key
        if after is not None:
            query["revision"] = {"$gt": after}
        cursor = db.memories.find(query).sort("revision", -1 if after is None else 1)
        return records_of(await cursor.skip(offset).limit(limit or 0).to_list())

    @reading
    async def vectors(self, db: Database, space: str, memories: Collection[str]) -> list[Vector]:
        found = find_in(db.vectors, {"memoriesId": space}, "nosqlId", memories)
        return [vector_record(document) async for document in found]

    @reading
    async def journal(
        self,
        db: Database,
        space: str,
        *,
        memories: Names = None,
        before: int | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> list[JournalEntry]:
        await MEMORIES.recover(db, space)
        if limit == 0:
            return []  # to MongoDB, no limit at all
        query: Document = {"space": space}
        bounds = {"$lt": before, "$gt": after}
        if asked := {sign: number for sign, number in bounds.items() if number is not None}:
            query["number"] = asked
        way = -1 if after is None else 1
        if memories is None or len(memories) == 1:
            query |= {} if memories is None else {"memory": next(iter(memories))}
            found = await db.journal.find(query).sort("number", way).limit(limit or 0).to_list()
        else:
            found = [row async for row in find_in(db.journal, query, "memory", memories)]
            found = sorted(found, key=lambda row: way * row["number"])[:limit]
        return [journal_record(document) for document in found]

    @reading
    async def feed(self, db: Database, space: str, after: int, *, model: str | None) -> Feed:
        """Changes after `number` may be included already; they come again with the next feed."""
        number = await MEMORIES.recover(db, space)
        if number == after:
            return Feed(number, (), ())
        if 0 < after <= await base(db, MEMORIES.collection, space):
            return Feed(0, (), ())  # all that the index holds is forgotten
        if after == 0:
            found = await _stored(db, space, (*SEARCHED, "hidden"))
        else:
            rows = db.journal.find({"space": space, "number": {"$gt": after}}, {"memory": 1})
            changed = [row["memory"] for row in await rows.to_list()]
            found = await documents(db, space, "_id", changed)
        entries, places = entries_of(_plain(found))
        return Feed(number, entries, await _blocks(db, space, places, model, everything=after == 0))

    @reading
    async def past(self, db: Database, space: str, at: datetime, *, model: str | None) -> Feed:
        number = await MEMORIES.recover(db, space)
        found = _plain(await _stored(db, space, (*SEARCHED, "superseded")))
        entries, places = entries_of(document for document in found if was_valid(document, at))
        return Feed(number, entries, await _blocks(db, space, places, model, everything=True))

    @writing
    async def touch(
        self, db: Database, space: str, counts: Mapping[str, Access], *, at_least: bool = False
    ) -> None:
        """A count is begun at zero, so that it can be added to by several at once."""
        owned = {"memoriesId": space}
        present = find_in(db.memories, {**owned, "status": {"$ne": "erased"}}, "_id", counts, {"_id": 1})
        ids = [found["_id"] async for found in present]
        begun = {found["_id"] async for found in find_in(db.accesses, owned, "_id", ids, {"_id": 1})}
        new = [{"_id": id, **owned, "count": 0, "last": ""} for id in ids if id not in begun]
        await insert_new(db.accesses, new)
        updates = [UpdateOne({"_id": id, **owned}, _more(counts[id], at_least)) for id in ids]
        if updates:
            await db.accesses.bulk_write(updates, ordered=False)

    @reading
    async def accesses(self, db: Database, space: str, ids: Collection[str]) -> dict[str, Access]:
        found = find_in(db.accesses, {"memoriesId": space}, "_id", ids)
        return {
            one["_id"]: Access(count=one["count"], last=datetime.fromisoformat(one["last"]))
            async for one in found
            if one["count"]
        }

    @reading
    async def items(
        self, db: Database, space: str, *, ids: Collection[str] = (), keys: Collection[str] = ()
    ) -> list[StoredItem]:
        if keys:  # ids come from an index, which has recovered the last commit
            await MEMORIES.recover(db, space)
        query = {"memoriesId": space, "status": "active"}
        wanted: tuple[tuple[str, Collection[str]], ...] = (("_id", ids), ("activeKey", keys))
        shown: Document = dict.fromkeys(ITEM_FIELDS, 1)
        return [
            item_of(plain_fields(document))
            for field, values in wanted
            async for document in find_in(db.memories, query, field, values, shown)
        ]


async def _stored(db: Database, space: str, statuses: Sequence[Status]) -> list[Document]:
    """The documents of these statuses as they are, as far as an index needs them."""
    query = {"memoriesId": space, "status": {"$in": list(statuses)}}
    return await db.memories.find(query, dict.fromkeys(ENTRY_FIELDS, 1)).to_list()


def _plain(documents: Iterable[Document]) -> Iterator[Document]:
    return (plain_fields(document) for document in documents if document["status"] != PROVISIONAL)


async def _blocks(
    db: Database, space: str, places: Mapping[str, tuple[str, int]], model: str | None, *, everything: bool
) -> list[Block]:
    """The vectors of one model among those of `places`."""
    if model is None or not places:
        return []
    query: Document = {"memoriesId": space, "model": model}
    if everything:
        found = await db.vectors.find(query, {"data": 1}).to_list()
    else:
        found = [one async for one in find_in(db.vectors, query, "_id", places, {"data": 1})]
    return blocks_of(places, ((one["_id"], one["data"]) for one in found))


async def documents(
    db: Database, space: str, field: str, values: Collection[str], more: Document | None = None
) -> list[Document]:
    """Stored documents of a space whose `field` is one of `values`, and that fit `more`."""
    query = {"memoriesId": space, **(more or {})}
    return [document async for document in find_in(db.memories, query, field, values)]


def records_of(stored: Sequence[Document]) -> list[MemoryRecord]:
    """The records of the documents that are not provisional."""
    return [memory_record(document) for document in stored if document["status"] != PROVISIONAL]


def _more(access: Access, at_least: bool) -> dict[str, dict[str, int | str]]:
    last = access.last.astimezone(UTC).isoformat(timespec="microseconds")
    if at_least:
        return {"$max": {"count": access.count, "last": last}}
    return {"$inc": {"count": access.count}, "$max": {"last": last}}
