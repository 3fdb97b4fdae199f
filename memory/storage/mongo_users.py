"""Everything of one user in MongoDB, page by page: plain functions of a database."""

from collections.abc import Sequence

from thoughtcycle.memory.records import Conversation, Cycle, JournalEntry, MemoryRecord, Status
from thoughtcycle.memory.storage.mongo_client import Database, Document
from thoughtcycle.memory.storage.mongo_commit import MEMORIES, PROVISIONAL
from thoughtcycle.memory.storage.mongo_documents import escaped, journal_record, memory_record
from thoughtcycle.memory.storage.mongo_ledger import find_in
from thoughtcycle.memory.storage.mongo_transcript import TRANSCRIPTS, claim
from thoughtcycle.memory.storage.mongo_transcript import conversation as stored
from thoughtcycle.memory.storage.sheet_port import stored_time


async def conversations(db: Database, user: str, after: str | None, limit: int) -> list[Conversation]:
    """See WholeUser.conversations."""
    await TRANSCRIPTS.settled(db, user)
    query: Document = {"user_id": escaped(user)}
    if after is not None:
        query["chat_id"] = {"$gt": escaped(after)}
    found = await db.conversations.find(query).sort("chat_id", 1).limit(limit).to_list()
    return [stored(document) for document in found]


async def conversation(db: Database, user: str, chat: str) -> Conversation | None:
    """See WholeUser.conversation."""
    await TRANSCRIPTS.settled(db, user)
    found = await db.conversations.find_one({"chat_id": escaped(chat), "user_id": escaped(user)})
    return None if found is None else stored(found)


async def cycles(db: Database, user: str, ids: Sequence[str]) -> list[Cycle]:
    """See WholeUser.cycles."""
    await TRANSCRIPTS.settled(db, user)
    wanted = [escaped(id) for id in ids]
    found = {
        document["_id"]: Cycle.model_validate_json(document["document"])
        async for document in find_in(db.cycles, {"user_id": escaped(user)}, "_id", wanted)
    }
    return [found[id] for id in dict.fromkeys(wanted) if id in found]


async def page(db: Database, space: str, after: int, limit: int, status: Status | None) -> list[MemoryRecord]:
    """See WholeUser.page."""
    await MEMORIES.settled(db, space)
    shown = {"$ne": PROVISIONAL} if status is None else status
    query = {"memoriesId": escaped(space), "revision": {"$gt": after}, "status": shown}
    found = await db.memories.find(query).sort("revision", 1).limit(limit).to_list()
    return [memory_record(document) for document in found]


async def changes(db: Database, space: str, after: int, limit: int) -> list[JournalEntry]:
    """See WholeUser.changes."""
    await MEMORIES.settled(db, space)
    query = {"space": escaped(space), "number": {"$gt": after}}
    found = await db.journal.find(query).sort("number", 1).limit(limit).to_list()
    return [journal_record(document) for document in found]


async def rename(db: Database, user: str, chat: str, title: str | None) -> bool:
    """See WholeUser.rename."""
    key = {"chat_id": escaped(chat), "user_id": escaped(user)}
    return bool((await db.conversations.update_one(key, {"$set": {"title": escaped(title)}})).matched_count)


async def strangers(
    db: Database, user: str, chats: Sequence[str], cycles: Sequence[str], memories: Sequence[str]
) -> bool:
    """See WholeUser.strangers."""
    places = (
        (db.conversations, "user_id", "chat_id", chats),
        (db.cycles, "user_id", "_id", cycles),
        (db.memories, "memoriesId", "_id", memories),
    )
    for collection, owner, field, ids in places:
        wanted = [escaped(id) for id in ids]
        async for _ in find_in(collection, {owner: {"$ne": escaped(user)}}, field, wanted, {"_id": 1}):
            return True
    return False


async def adopt(db: Database, chat: Conversation) -> None:
    """See WholeUser.adopt."""
    await claim(db, chat.id, chat.user, chat.created)
    key = {"chat_id": escaped(chat.id), "user_id": escaped(chat.user)}
    fields = {"tip": escaped(chat.tip), "title": escaped(chat.title), "updated_at": stored_time(chat.updated)}
    await db.conversations.update_one(key, {"$set": fields})
