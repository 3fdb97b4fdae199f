"""Changes of memories on MongoDB as whole commits: check, redo log, and its idempotent steps."""

from collections.abc import Iterable, Iterator, Sequence

import bson
from pymongo import DeleteMany, UpdateOne
from pymongo.asynchronous.collection import AsyncCollection

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import JournalEntry, MemoryRecord
from thoughtcycle.memory.storage.base.memories import Conflict, Write
from thoughtcycle.memory.storage.mongo.client import Database, Document
from thoughtcycle.memory.storage.mongo.ledger import Ledger, Log, base, find_in, insert_new, upsert_newer
from thoughtcycle.memory.storage.mongo.serialization import journal_document, memory_document, vector_document

_LOG_BYTES = 8_000_000
"""Redo log of one atomic commit; a document of MongoDB holds 16 MB."""
_LARGEST_BYTES = 15_000_000
PROVISIONAL = "provisional"
"""Status of a new document whose vectors are not all there yet; no query asks for it."""


async def commit(db: Database, space: str, writes: Sequence[Write], place: str) -> list[MemoryRecord]:
    """As `Memories.commit`: all or nothing, except that more than 8 MB are several commits."""
    stored: list[MemoryRecord] = []
    for some in _batches(space, writes):

        async def plan(
            number: int, some: Sequence[Write] = some
        ) -> tuple[list[Document], list[MemoryRecord]]:
            await _check(db, space, some)
            records = [
                write.record.model_copy(update={"revision": revision})
                for revision, write in enumerate(some, number + 1)
            ]
            return [_entry(*pair) for pair in zip(some, records, strict=True)], records

        stored += await MEMORIES.write(db, space, plan, place)
    return stored


def _batches(space: str, writes: Sequence[Write]) -> Iterator[list[Write]]:
    """As few groups as fit into a log each; raises for an invalid write before anything is stored."""
    batches: list[list[Write]] = [[]]
    size = 0
    for write in writes:
        if write.record.space != space:
            raise ValueError(f"memory {write.record.id!r} is of another space")
        if write.vectors is not None and tuple(one.id for one in write.vectors) != write.record.vector_ids:
            raise ValueError(f"the vectors of memory {write.record.id!r} are not those that it lists")
        own = len(bson.encode(_entry(write, write.record)))
        if own > _LARGEST_BYTES:
            raise InputRefused("too_large")
        size += own
        if size > _LOG_BYTES and batches[-1]:
            batches.append([])
            size = own
        batches[-1].append(write)
    return iter(batches)


def _entry(write: Write, record: MemoryRecord) -> Document:
    row = JournalEntry(
        space=record.space,
        number=record.revision,
        at=write.at,
        op=write.op,
        memory=record.id,
        cycle=write.cycle,
        before=write.remembered,
        undoes=write.undoes,
    )
    vectors = None
    if write.vectors is not None:
        vectors = [vector_document(vector, record.revision) for vector in write.vectors]
    return {
        "document": memory_document(record),
        "before": None if write.before is None else write.before.revision,
        "vectors": vectors,
        "row": journal_document(row),
    }


async def _check(db: Database, space: str, writes: Sequence[Write]) -> None:
    """Raises Conflict when a document is not at the revision expected, or a key is another memory's."""
    entries = [
        (write.record.key if write.record.status == "active" else None, write.record.id, write.before)
        for write in writes
    ]
    shown = {"memoriesId": 1, "revision": 1}
    revisions = {
        found["_id"]: (found["memoriesId"], found["revision"])
        async for found in find_in(db.memories, {}, "_id", [id for _, id, _ in entries], shown)
    }
    query, keys = {"memoriesId": space}, [key for key, _, _ in entries if key is not None]
    holders = {
        found["activeKey"]: found["_id"]
        async for found in find_in(db.memories, query, "activeKey", keys, {"activeKey": 1})
    }
    for key, id, before in entries:
        if revisions.get(id) != (None if before is None else (space, before.revision)):
            raise Conflict
        revisions[id] = (space, -1)
        holders = {held: holder for held, holder in holders.items() if holder != id}
        if key is not None and holders.setdefault(key, id) != id:
            raise Conflict


async def _apply_writes(db: Database, log: Log) -> None:
    """The order of TC-15: document, vectors, vector ids on the document.

    A change that gives other vectors lists them when they are there, and the former ones go when no document
    lists them any more.
    """
    new = [entry for entry in log.entries if entry["before"] is None]
    changed = [entry for entry in log.entries if entry["before"] is not None]
    provisional: Document = {"vectorIds": [], "activeKey": None, "status": PROVISIONAL}
    await insert_new(db.memories, [{**entry["document"], **provisional} for entry in new])
    await insert_new(db.vectors, list(_vectors(new)))
    await _put_newer(db.vectors, _vectors(changed))
    await db.memories.bulk_write([_final(entry) for entry in log.entries])
    await insert_new(db.journal, [entry["row"] for entry in log.entries])
    if gone := [entry["document"]["_id"] for entry in changed if entry["document"]["status"] == "erased"]:
        await db.accesses.bulk_write([DeleteMany({"_id": id}) for id in gone], ordered=False)
    for entry in log.entries:
        if entry["row"]["op"] == "erase":
            erased = {"space": log.owner, "memory": entry["row"]["memory"]}
            await db.journal.update_many(erased, {"$set": {"before": None}})
    if former := [_former_vectors(entry["document"]) for entry in changed if entry["vectors"] is not None]:
        await db.vectors.bulk_write(former, ordered=False)


def _vectors(entries: Iterable[Document]) -> Iterator[Document]:
    return (vector for entry in entries for vector in entry["vectors"] or ())


def _final(entry: Document) -> UpdateOne:
    document = entry["document"]
    if entry["before"] is None:
        key = {"_id": document["_id"], "revision": document["revision"], "status": PROVISIONAL}
        fields = {name: document[name] for name in ("vectorIds", "activeKey", "status")}
    else:
        key = {"_id": document["_id"], "revision": entry["before"]}
        fields = {name: value for name, value in document.items() if name != "_id"}
    return UpdateOne(key, {"$set": fields})


def _former_vectors(document: Document) -> DeleteMany:
    return DeleteMany({"nosqlId": document["_id"], "revision": {"$lt": document["revision"]}})


async def _put_newer(vectors: AsyncCollection[Document], documents: Iterable[Document]) -> None:
    """Writes vectors, except where a later change wrote the same one."""
    updates = [
        UpdateOne(
            {"_id": one["_id"], "revision": {"$lt": one["revision"]}},
            {"$set": {name: value for name, value in one.items() if name != "_id"}},
            upsert=True,
        )
        for one in documents
    ]
    await upsert_newer(vectors, updates)


async def _take_back(db: Database, log: Log) -> None:
    """Deletes vectors of this commit that no document lists any more, since a later commit removed them.

    Deletes everything that came back where the owner was forgotten meanwhile.
    """
    if log.last <= (end := await base(db, MEMORIES.collection, log.owner)):
        await sweep_memories(db, log.owner, end)
    vectors = {one["_id"]: one for one in _vectors(log.entries)}
    owners = [one["nosqlId"] for one in vectors.values()]
    listed: set[str] = set()
    async for found in find_in(db.memories, {}, "_id", owners, {"vectorIds": 1}):
        listed.update(found["vectorIds"])
    for id in vectors.keys() - listed:
        await db.vectors.delete_one({"_id": id, "revision": vectors[id]["revision"]})


async def sweep_memories(db: Database, owner: str, end: int) -> None:
    """Deletes what `owner` committed up to number `end`."""
    await db.memories.delete_many({"memoriesId": owner, "revision": {"$lte": end}})
    await db.vectors.delete_many({"memoriesId": owner, "revision": {"$lte": end}})
    await db.journal.delete_many({"space": owner, "number": {"$lte": end}})


MEMORIES = Ledger("spaces", _apply_writes, _take_back)
"""The commits of a memory space; its number is that of the last journal row."""
