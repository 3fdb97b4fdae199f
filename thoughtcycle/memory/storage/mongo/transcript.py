"""Cycles in MongoDB."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TypeVar

from pymongo import UpdateOne
from pymongo.errors import DuplicateKeyError

from thoughtcycle.memory.model import Conversation, Cycle, MessageVector
from thoughtcycle.memory.storage.base.memories import Conflict
from thoughtcycle.memory.storage.base.transcript import (
    Amended,
    Begun,
    BranchWalk,
    CycleFeed,
    Transcript,
    links_of,
    same_words,
)
from thoughtcycle.memory.storage.mongo.chats import claimed
from thoughtcycle.memory.storage.mongo.client import Database, Document
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing
from thoughtcycle.memory.storage.mongo.ledger import base, find_in, upsert_newer
from thoughtcycle.memory.storage.mongo.transcript_commit import (
    TRANSCRIPTS,
    as_tip,
    cycle_document,
    drop_vectors,
    worded_in,
)

T = TypeVar("T")
_VECTOR = ("cycle", "digest", "model", "data")


class MongoTranscript(Transcript, Repository):
    @writing
    async def begin(
        self, db: Database, user: str, chat: str, at: datetime, cycle: Callable[[Conversation], Cycle]
    ) -> Begun:
        await self._database.begin_epoch(user, at)
        stored = await claimed(db, chat, user, at, asked=at)
        if stored.user != user:
            return Begun(stored, None, ())
        interrupted = await self.open_cycles(user=user, chat=chat)
        return Begun(stored, await self.add_cycle(cycle(stored)), tuple(interrupted))

    @writing
    async def add_cycle(self, db: Database, cycle: Cycle) -> Cycle:
        await self._database.check_epoch(cycle.user)
        if not cycle.closed:  # takes no number
            try:
                await db.cycles.insert_one(cycle_document(cycle, 1, None))
            except DuplicateKeyError:
                return await self._known(cycle)
            return cycle

        return await self._add_closed(db, cycle, append=False)

    @writing
    async def append_cycle(self, db: Database, cycle: Cycle) -> Cycle:
        await self._database.check_epoch(cycle.user)
        return await self._add_closed(db, cycle, append=True)

    async def _add_closed(self, db: Database, cycle: Cycle, *, append: bool) -> Cycle:
        async def plan(number: int) -> tuple[list[Document], Cycle]:
            if await db.cycles.find_one({"_id": cycle.id}, {"_id": 1}) is not None:
                return [], await self._known(cycle)
            added = cycle
            if append:
                chat = await db.conversations.find_one({"chat_id": cycle.chat}, {"tip": 1})
                added = cycle.model_copy(update={"parent": chat["tip"] if chat else None})
            tip = as_tip(added, number + 1) if append else None
            return [{"document": cycle_document(added, 1, number + 1), "before": None, "tip": tip}], added

        return await self._commit(db, cycle.user, plan)

    async def _known(self, cycle: Cycle) -> Cycle:
        known = await self.cycle(cycle.user, cycle.id)
        if known is None:
            raise Conflict  # another user's
        return known

    async def _commit(
        self, db: Database, user: str, plan: Callable[[int], Awaitable[tuple[Sequence[Document], T]]]
    ) -> T:
        async with self._database.turn(TRANSCRIPTS.collection, user):
            return await TRANSCRIPTS.write(db, user, plan, self._database.place)

    @reading
    async def cycle(self, db: Database, user: str, id: str) -> Cycle | None:
        found = await db.cycles.find_one({"_id": id, "user_id": user})
        return None if found is None else _cycle(found)

    @reading
    async def path(self, db: Database, user: str, chat: str, tip: str, *, limit: int) -> list[Cycle]:
        walk = BranchWalk(chat, tip, limit)
        while walk.next is not None:
            walk.add(await self.cycle(user, walk.next))
        return walk.closed

    @writing
    async def amend_cycle(
        self,
        db: Database,
        user: str,
        id: str,
        change: Callable[[Cycle], Cycle],
        *,
        tip: bool = False,
        anew: bool = False,
    ) -> Amended | None:

        async def plan(number: int) -> tuple[list[Document], Amended | None]:
            found = await db.cycles.find_one({"_id": id, "user_id": user})
            if found is None:
                return [], None
            known = _cycle(found)
            cycle, version = change(known), found["version"] + 1
            chat = await db.conversations.find_one({"chat_id": found["chat_id"]}, {"tip": 1})
            amended = Amended(cycle, chat["tip"] if chat else None)
            if not (tip or anew) and same_words(known, cycle):
                if cycle == known:
                    return [], amended
                document = cycle_document(cycle, version, found["number"], worded=worded_in(found))
            else:
                document = cycle_document(cycle, version, number + 1 if cycle.closed else None)
            moved = as_tip(cycle, number + 1) if tip else None
            return [{"document": document, "before": found["version"], "tip": moved}], amended

        return await self._commit(db, user, plan)

    @reading
    async def open_cycles(
        self,
        db: Database,
        *,
        user: str | None = None,
        chat: str | None = None,
        before: datetime | None = None,
    ) -> list[Cycle]:
        query: Document = {"open": True}
        if user is not None:
            await TRANSCRIPTS.recover(db, user)
            query["user_id"] = user
        if chat is not None:
            query["chat_id"] = chat
        if before is not None:
            query["heartbeat"] = {"$lt": before.timestamp()}
        return [_cycle(found) async for found in db.cycles.find(query).sort("heartbeat", 1)]

    @reading
    async def links(self, db: Database, user: str, chats: Collection[str]) -> dict[str, str | None]:
        await TRANSCRIPTS.recover(db, user)
        found = find_in(db.cycles, {"user_id": user}, "chat_id", chats, {"parent": 1, "chat_id": 1})
        return links_of([(one["_id"], one["parent"], one["chat_id"]) async for one in found])

    @reading
    async def cycle_feed(self, db: Database, user: str, after: int, *, model: str | None) -> CycleFeed:
        """Its number counts the changes of open cycles too."""
        number = await TRANSCRIPTS.recover(db, user)
        if number == after:
            return CycleFeed(number, (), {}, ())
        if 0 < after <= await base(db, TRANSCRIPTS.collection, user):
            return CycleFeed(0, (), {}, ())  # all that the index holds is forgotten
        query = {"user_id": user, "number": {"$gt": after}}
        found = await db.cycles.find(query).sort("number", 1).to_list()
        chats = [cycle["chat_id"] for cycle in found]
        tips = {
            one["chat_id"]: one["tip"]
            async for one in find_in(db.conversations, {}, "chat_id", chats, {"chat_id": 1, "tip": 1})
        }
        vectors: list[MessageVector] = []
        if model is not None:
            versions = {cycle["_id"]: worded_in(cycle) for cycle in found}
            own = {"user_id": user, "model": model}
            async for one in find_in(db.message_vectors, own, "cycle", versions):
                if one["version"] == versions[one["cycle"]]:
                    vectors.append(MessageVector(**{name: one[name] for name in _VECTOR}))
        return CycleFeed(number, tuple(map(_cycle, found)), tips, tuple(vectors))

    @writing
    async def keep_message_vectors(self, db: Database, user: str, vectors: Sequence[MessageVector]) -> None:
        """Stores each vector with the version of its cycle; a vector of former words counts no longer."""
        versions = await _versions(db, user, vectors)
        known = [vector for vector in vectors if vector.cycle in versions]
        updates = [_vector_update(user, vector, versions[vector.cycle]) for vector in known]
        await upsert_newer(db.message_vectors, updates)
        for cycle, version in (await _versions(db, user, vectors)).items():
            if version != versions.get(cycle):  # amended meanwhile
                await drop_vectors(db, cycle, version)

    @reading
    async def cycles(self, db: Database, user: str, ids: Sequence[str]) -> list[Cycle]:
        await TRANSCRIPTS.recover(db, user)
        stored = find_in(db.cycles, {"user_id": user}, "_id", ids)
        found = {document["_id"]: _cycle(document) async for document in stored}
        return [found[id] for id in dict.fromkeys(ids) if id in found]

    @writing
    async def drop_message_vectors(self, db: Database, user: str, *, keep: str) -> None:
        await db.message_vectors.delete_many({"user_id": user, "model": {"$ne": keep}})


async def _versions(db: Database, user: str, vectors: Sequence[MessageVector]) -> dict[str, int]:
    ids = [vector.cycle for vector in vectors]
    found = find_in(db.cycles, {"user_id": user}, "_id", ids, {"version": 1, "worded": 1})
    return {cycle["_id"]: worded_in(cycle) async for cycle in found}


def _vector_update(user: str, vector: MessageVector, version: int) -> UpdateOne:
    names = {"cycle": vector.cycle, "digest": vector.digest, "model": vector.model}
    fields = {**names, "user_id": user, "data": vector.data, "version": version}
    id = "\x1f".join(names.values())
    return UpdateOne({"_id": id, "version": {"$lte": version}}, {"$set": fields}, upsert=True)


def _cycle(found: Document) -> Cycle:
    return Cycle.model_validate_json(found["document"])
