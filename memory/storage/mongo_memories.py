"""Reading memories, vectors and journal in MongoDB: plain functions of a database.

Each finishes first what somebody left undone in the space, so that no reader sees half a commit for good.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from thoughtcycle.memory.records import STATUSES, JournalEntry, MemoryRecord, Status, Vector
from thoughtcycle.memory.storage.base import Block, Feed, Names
from thoughtcycle.memory.storage.documents import ENTRY_FIELDS, SEARCHED, blocks_of, entries_of, was_valid
from thoughtcycle.memory.storage.mongo_client import Database, Document
from thoughtcycle.memory.storage.mongo_commit import MEMORIES, PROVISIONAL
from thoughtcycle.memory.storage.mongo_documents import (
    escaped,
    journal_record,
    memory_record,
    plain_fields,
    unescaped,
    vector_record,
)
from thoughtcycle.memory.storage.mongo_ledger import base, find_in


async def records(db: Database, space: str, ids: Sequence[str]) -> list[MemoryRecord]:
    """See Storage.records."""
    stored = await documents(db, space, "_id", ids)
    if any(document["status"] == PROVISIONAL for document in stored):
        await MEMORIES.settled(db, space)
        stored = await documents(db, space, "_id", ids)
    found = {record.id: record for record in known(stored)}
    return [found[id] for id in dict.fromkeys(ids) if id in found]


async def same(
    db: Database, space: str, identities: Collection[str], keys: Collection[str]
) -> list[MemoryRecord]:
    """See Storage.same."""
    await MEMORIES.settled(db, space)
    found = await documents(db, space, "identity", identities, {"status": "active"})
    found += await documents(db, space, "activeKey", keys)
    return list({record.id: record for record in known(found)}.values())


async def versions(db: Database, space: str, ids: Collection[str]) -> list[MemoryRecord]:
    """See Storage.versions."""
    await MEMORIES.settled(db, space)
    kept: list[Status] = [status for status in STATUSES if status != "erased"]
    found = known(await documents(db, space, "current", ids, {"status": {"$in": kept}}))
    latest = [(record.valid_to or record.valid_from, record.revision, record) for record in found]
    return [record for _, _, record in sorted(latest, key=lambda row: row[:2], reverse=True)]


async def of_cycles(db: Database, space: str, cycles: Collection[str]) -> list[MemoryRecord]:
    """See Storage.of_cycles."""
    await MEMORIES.settled(db, space)
    shown = {"status": {"$in": ["active", "archived", "hidden"]}}
    return known(await documents(db, space, "source.cycle", cycles, shown))


async def listing(
    db: Database, space: str, statuses: Collection[Status], limit: int | None, offset: int
) -> list[MemoryRecord]:
    """See Storage.listing."""
    await MEMORIES.settled(db, space)
    return await _listing(db, space, statuses, limit, offset)


async def _listing(
    db: Database, space: str, statuses: Collection[Status], limit: int | None, offset: int
) -> list[MemoryRecord]:
    if limit == 0:
        return []  # to MongoDB, no limit at all
    cursor = db.memories.find({"memoriesId": escaped(space), "status": {"$in": list(statuses)}})
    cursor = cursor.sort("revision", -1).skip(offset).limit(limit or 0)
    return known(await cursor.to_list())


async def vectors(db: Database, space: str, memories: Collection[str]) -> list[Vector]:
    """See Storage.vectors."""
    query = {"memoriesId": escaped(space)}
    found = find_in(db.vectors, query, "nosqlId", [escaped(memory) for memory in memories])
    return [vector_record(document) async for document in found]


async def journal(
    db: Database, space: str, memories: Names, before: int | None, limit: int | None
) -> list[JournalEntry]:
    """See Storage.journal."""
    await MEMORIES.settled(db, space)
    query: Document = {"space": escaped(space)}
    if before is not None:
        query["number"] = {"$lt": before}
    if limit == 0:
        return []  # to MongoDB, no limit at all
    if memories is None or len(memories) == 1:
        query |= {} if memories is None else {"memory": escaped(next(iter(memories)))}
        found = await db.journal.find(query).sort("number", -1).limit(limit or 0).to_list()
    else:
        found = [
            row async for row in find_in(db.journal, query, "memory", [escaped(one) for one in memories])
        ]
        found = sorted(found, key=lambda row: -row["number"])[:limit]
    return [journal_record(document) for document in found]


async def feed(db: Database, space: str, after: int, model: str | None) -> Feed:
    """See Storage.feed. What is newer than `number` may be in already; it comes again with the next feed."""
    number = await MEMORIES.settled(db, space)
    if number == after:
        return Feed(number, (), ())
    if 0 < after <= await base(db, MEMORIES.collection, space):
        return Feed(0, (), ())  # what the index knows is forgotten
    if after == 0:
        found = await _stored(db, space, (*SEARCHED, "hidden"))
    else:
        rows = db.journal.find({"space": escaped(space), "number": {"$gt": after}}, {"memory": 1})
        changed = [row["memory"] for row in await rows.to_list()]
        found = await _found(db, space, "_id", changed)
    entries, places = entries_of(_plain(found))
    return Feed(number, entries, await _blocks(db, space, places, model, everything=after == 0))


async def past(db: Database, space: str, at: datetime, model: str | None) -> Feed:
    """See Storage.past."""
    number = await MEMORIES.settled(db, space)
    found = _plain(await _stored(db, space, (*SEARCHED, "superseded")))
    entries, places = entries_of(document for document in found if was_valid(document, at))
    return Feed(number, entries, await _blocks(db, space, places, model, everything=True))


async def _stored(db: Database, space: str, statuses: Sequence[Status]) -> list[Document]:
    """The documents of these statuses as they are, as far as an index needs them."""
    query = {"memoriesId": escaped(space), "status": {"$in": list(statuses)}}
    return await db.memories.find(query, dict.fromkeys(ENTRY_FIELDS, 1)).to_list()


def _plain(documents: Iterable[Document]) -> Iterator[Document]:
    return (plain_fields(document) for document in documents if document["status"] != PROVISIONAL)


async def _blocks(
    db: Database, space: str, places: Mapping[str, tuple[str, int]], model: str | None, *, everything: bool
) -> list[Block]:
    """The vectors of one model among those of `places`."""
    if model is None or not places:
        return []
    query: Document = {"memoriesId": escaped(space), "model": escaped(model)}
    if everything:
        found = await db.vectors.find(query, {"data": 1}).to_list()
    else:
        ids = [escaped(id) for id in places]
        found = [one async for one in find_in(db.vectors, query, "_id", ids, {"data": 1})]
    return blocks_of(places, ((unescaped(one["_id"]), one["data"]) for one in found))


async def documents(
    db: Database, space: str, field: str, values: Collection[str], more: Document | None = None
) -> list[Document]:
    """Stored documents of a space whose `field` is one of `values`, and that fit `more`."""
    return await _found(db, space, field, [escaped(value) for value in values], more)


async def _found(
    db: Database, space: str, field: str, values: Collection[str], more: Document | None = None
) -> list[Document]:
    query = {"memoriesId": escaped(space), **(more or {})}
    return [document async for document in find_in(db.memories, query, field, values)]


def known(stored: Sequence[Document]) -> list[MemoryRecord]:
    """The records of those that are there for good."""
    return [memory_record(document) for document in stored if document["status"] != PROVISIONAL]
