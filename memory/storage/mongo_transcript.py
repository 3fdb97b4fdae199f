"""Conversations and cycles in MongoDB: plain functions of a database.

Every change of a cycle is a commit of its user's (see mongo_ledger), so that changes of closed cycles are
numbered in the order in which readers see them, and the end of a chat's live branch moves with its cycle.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError

from thoughtcycle.memory.records import Conversation, Cycle, MessageVector
from thoughtcycle.memory.storage.base import Amended, Conflict, CycleFeed
from thoughtcycle.memory.storage.mongo_client import Database, Document
from thoughtcycle.memory.storage.mongo_documents import escaped, unescaped
from thoughtcycle.memory.storage.mongo_epochs import refuse_late
from thoughtcycle.memory.storage.mongo_ledger import Ledger, Log, base, find_in, insert_new, only_duplicates
from thoughtcycle.memory.storage.sheet_port import stored_time
from thoughtcycle.memory.storage.transcript_rows import Walk, links_of, same_words


async def claim(
    db: Database, chat: str, user: str, created: datetime, *, asked: datetime | None = None
) -> Conversation:
    """See Storage.claim, whose `at` is `asked` (None: not checked).

    The unique index decides a race; the loser sees the winner's user.
    """
    await TRANSCRIPTS.settled(db, user)
    found = await db.conversations.find_one({"chat_id": escaped(chat)})
    if found is None:
        if asked is not None:
            await refuse_late(db, user, asked)
        times = {"created_at": stored_time(created), "updated_at": stored_time(created)}
        found = {"chat_id": escaped(chat), "user_id": escaped(user), "tip": None, "tipped": 0, **times}
        try:
            await db.conversations.insert_one(found)
        except DuplicateKeyError:
            return await claim(db, chat, user, created, asked=asked)
    return conversation(found)


def conversation(found: Document) -> Conversation:
    """The record of a stored conversation."""
    known = unescaped(found)
    return Conversation(
        id=known["chat_id"],
        user=known["user_id"],
        tip=known["tip"],
        title=known.get("title"),
        created=datetime.fromisoformat(known["created_at"]),
        updated=datetime.fromisoformat(known["updated_at"]),
    )


async def owner(db: Database, chat: str) -> str | None:
    """See Storage.owner."""
    found = await db.conversations.find_one({"chat_id": escaped(chat)}, {"user_id": 1})
    return None if found is None else str(unescaped(found["user_id"]))


async def add_cycle(db: Database, cycle: Cycle, place: str) -> Cycle:
    """See Storage.add_cycle."""
    if not cycle.closed:  # takes no number
        try:
            await db.cycles.insert_one(_document(cycle, 1, None))
        except DuplicateKeyError:
            return await _known(db, cycle)
        return cycle

    async def plan(number: int) -> tuple[list[Document], Cycle]:
        if await db.cycles.find_one({"_id": escaped(cycle.id)}, {"_id": 1}) is not None:
            return [], await _known(db, cycle)
        return [{"document": _document(cycle, 1, number + 1), "before": None, "tip": None}], cycle

    return await TRANSCRIPTS.write(db, cycle.user, plan, place)


async def append_cycle(db: Database, cycle: Cycle, place: str) -> Cycle:
    """See Storage.append_cycle."""

    async def plan(number: int) -> tuple[list[Document], Cycle]:
        if await db.cycles.find_one({"_id": escaped(cycle.id)}, {"_id": 1}) is not None:
            return [], await _known(db, cycle)
        chat = await db.conversations.find_one({"chat_id": escaped(cycle.chat)}, {"tip": 1})
        added = cycle.model_copy(update={"parent": unescaped(chat["tip"]) if chat else None})
        document = _document(added, 1, number + 1)
        return [{"document": document, "before": None, "tip": _tip(added, number + 1)}], added

    return await TRANSCRIPTS.write(db, cycle.user, plan, place)


def _tip(cycle: Cycle, number: int) -> Document:
    """What makes `cycle` the end of its chat's live branch."""
    return {"tip": escaped(cycle.id), "tipped": number, "updated_at": stored_time(cycle.heartbeat)}


async def _known(db: Database, cycle: Cycle) -> Cycle:
    known = await get_cycle(db, cycle.user, cycle.id)
    if known is None:
        raise Conflict  # another user's
    return known


async def get_cycle(db: Database, user: str, id: str) -> Cycle | None:
    """See Storage.cycle."""
    found = await db.cycles.find_one(_key(user, id))
    return None if found is None else _cycle(found)


async def path(db: Database, user: str, chat: str, tip: str, limit: int) -> list[Cycle]:
    """See Storage.path."""
    walk = Walk(chat, tip, limit)
    while walk.next is not None:
        walk.add(await get_cycle(db, user, walk.next))
    return walk.closed


async def amend_cycle(
    db: Database,
    user: str,
    id: str,
    change: Callable[[Cycle], Cycle],
    tip: bool,
    anew: bool,
    place: str,
) -> Amended | None:
    """See Storage.amend_cycle."""

    async def plan(number: int) -> tuple[list[Document], Amended | None]:
        found = await db.cycles.find_one(_key(user, id))
        if found is None:
            return [], None
        known = _cycle(found)
        cycle, version = change(known), found["version"] + 1
        chat = await db.conversations.find_one({"chat_id": found["chat_id"]}, {"tip": 1})
        amended = Amended(cycle, unescaped(chat["tip"]) if chat else None)
        if not (tip or anew) and same_words(known, cycle):
            if cycle == known:
                return [], amended
            document = _document(cycle, version, found["number"], worded=_worded(found))
        else:
            document = _document(cycle, version, number + 1 if cycle.closed else None)
        moved = _tip(cycle, number + 1) if tip else None
        return [{"document": document, "before": found["version"], "tip": moved}], amended

    return await TRANSCRIPTS.write(db, user, plan, place)


async def open_cycles(
    db: Database, user: str | None, chat: str | None, before: datetime | None
) -> list[Cycle]:
    """See Storage.open_cycles."""
    query: Document = {"open": True}
    if user is not None:
        await TRANSCRIPTS.settled(db, user)
        query["user_id"] = escaped(user)
    if chat is not None:
        query["chat_id"] = escaped(chat)
    if before is not None:
        query["heartbeat"] = {"$lt": before.timestamp()}
    return [_cycle(found) async for found in db.cycles.find(query).sort("heartbeat", 1)]


async def links(db: Database, user: str, chats: Collection[str]) -> dict[str, str | None]:
    """See Storage.links."""
    await TRANSCRIPTS.settled(db, user)
    query, within = {"user_id": escaped(user)}, list(map(escaped, chats))
    found = find_in(db.cycles, query, "chat_id", within, {"parent": 1, "chat_id": 1})
    return links_of(
        [(unescaped(one["_id"]), unescaped(one["parent"]), one["chat_id"]) async for one in found]
    )


async def cycle_feed(db: Database, user: str, after: int, model: str | None) -> CycleFeed:
    """See Storage.cycle_feed. Its number counts the changes of open cycles too."""
    number = await TRANSCRIPTS.settled(db, user)
    if number == after:
        return CycleFeed(number, (), {}, ())
    if 0 < after <= await base(db, TRANSCRIPTS.collection, user):
        return CycleFeed(0, (), {}, ())  # what the index knows is forgotten
    query = {"user_id": escaped(user), "number": {"$gt": after}}
    found = await db.cycles.find(query).sort("number", 1).to_list()
    chats = [cycle["chat_id"] for cycle in found]
    tips = {
        unescaped(one["chat_id"]): unescaped(one["tip"])
        async for one in find_in(db.conversations, {}, "chat_id", chats, {"chat_id": 1, "tip": 1})
    }
    vectors: list[MessageVector] = []
    if model is not None:
        versions = {cycle["_id"]: _worded(cycle) for cycle in found}
        own = {"user_id": escaped(user), "model": escaped(model)}
        async for one in find_in(db.message_vectors, own, "cycle", list(versions)):
            if one["version"] == versions[one["cycle"]]:
                vectors.append(_message_vector(one))
    return CycleFeed(number, tuple(map(_cycle, found)), tips, tuple(vectors))


async def keep_message_vectors(db: Database, user: str, vectors: Sequence[MessageVector]) -> None:
    """See Storage.keep_message_vectors. A vector counts while its cycle has the words it was made for."""
    versions = await _versions(db, user, vectors)
    updates = [_kept(user, vector, versions[vector.cycle]) for vector in vectors if vector.cycle in versions]
    if not updates:
        return
    try:
        await db.message_vectors.bulk_write(updates, ordered=False)
    except BulkWriteError as error:
        only_duplicates(error)
    for cycle, version in (await _versions(db, user, vectors)).items():
        if version != versions.get(cycle):  # amended meanwhile
            await _drop_vectors(db, escaped(cycle), version)


async def _versions(db: Database, user: str, vectors: Sequence[MessageVector]) -> dict[str, int]:
    ids = [escaped(vector.cycle) for vector in vectors]
    found = find_in(db.cycles, {"user_id": escaped(user)}, "_id", ids, {"version": 1, "worded": 1})
    return {unescaped(cycle["_id"]): _worded(cycle) async for cycle in found}


def _worded(cycle: Document) -> int:
    """The version of a stored cycle that gave it its words; those kept earlier do not tell."""
    return int(cycle["worded"] if "worded" in cycle else cycle["version"])


def _kept(user: str, vector: MessageVector, version: int) -> UpdateOne:
    names = {"cycle": vector.cycle, "digest": vector.digest, "model": vector.model}
    fields = {**escaped({**names, "user_id": user}), "data": vector.data, "version": version}
    id = escaped("\x1f".join(names.values()))
    return UpdateOne({"_id": id, "version": {"$lte": version}}, {"$set": fields}, upsert=True)


def _message_vector(found: Document) -> MessageVector:
    names = unescaped({name: found[name] for name in ("cycle", "digest", "model")})
    return MessageVector(**names, data=found["data"])


async def _drop_vectors(db: Database, cycle: str, version: int) -> None:
    """Those made for a version before this one."""
    await db.message_vectors.delete_many({"cycle": cycle, "version": {"$lt": version}})


async def _carry_out(db: Database, log: Log) -> None:
    for entry in log.entries:
        document, id = entry["document"], entry["document"]["_id"]
        if entry["before"] is None:
            await insert_new(db.cycles, [document])
        else:
            await db.cycles.replace_one({"_id": id, "version": entry["before"]}, document)
            if document["number"] is not None:
                await _drop_vectors(db, id, _worded(document))
        if (tip := entry["tip"]) is not None:
            chat = {"chat_id": document["chat_id"], "user_id": log.owner, "tipped": {"$lt": tip["tipped"]}}
            await db.conversations.update_one(chat, {"$set": tip})


async def _take_back(db: Database, log: Log) -> None:
    """A step that comes too late finds another version; of a user who was forgotten it finds nothing."""
    if log.last <= (end := await base(db, TRANSCRIPTS.collection, log.owner)):
        await sweep_cycles(db, log.owner, end)


async def sweep_cycles(db: Database, owner: str, end: int) -> None:
    """Deletes what the escaped `owner` said up to change `end`; open cycles have no number."""
    for number in ({"$lte": end}, None):
        await db.cycles.delete_many({"user_id": owner, "number": number})
    await db.message_vectors.delete_many({"user_id": owner})


TRANSCRIPTS = Ledger("transcripts", _carry_out, _take_back)
"""The changes of a user's cycles, numbered."""


def _key(user: str, id: str) -> Document:
    return {"_id": escaped(id), "user_id": escaped(user)}


def _document(cycle: Cycle, version: int, number: int | None, *, worded: int | None = None) -> Document:
    """`worded`: the version that gave it its words; None: this one."""
    names = {"_id": cycle.id, "user_id": cycle.user, "chat_id": cycle.chat, "parent": cycle.parent}
    state = {"open": not cycle.closed, "heartbeat": cycle.heartbeat.timestamp(), "formation": cycle.formation}
    return {
        **escaped(names),
        **state,
        "opened": cycle.opened_at.timestamp(),
        "version": version,
        "worded": version if worded is None else worded,
        "number": number,
        "document": cycle.model_dump_json(),
    }


def _cycle(found: Document) -> Cycle:
    return Cycle.model_validate_json(found["document"])
