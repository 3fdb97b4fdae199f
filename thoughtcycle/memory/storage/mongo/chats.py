"""Chats in MongoDB."""

from datetime import datetime

from pymongo.errors import DuplicateKeyError

from thoughtcycle.memory.model import Conversation
from thoughtcycle.memory.storage.base.chats import Chats
from thoughtcycle.memory.storage.base.documents import stored_time
from thoughtcycle.memory.storage.mongo.client import Database, Document
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing
from thoughtcycle.memory.storage.mongo.ledger import forgotten
from thoughtcycle.memory.storage.mongo.transcript_commit import TRANSCRIPTS


class MongoChats(Chats, Repository):
    @writing
    async def claim(
        self, db: Database, chat: str, user: str, at: datetime, *, created: datetime | None = None
    ) -> Conversation:
        known = await claimed(db, chat, user, created or at, asked=at)
        if known.tip is None:  # perhaps new: it belongs to the present epoch
            self._database.epochs.begin(user, (await forgotten(db, user)).epoch)
        return known

    @reading
    async def owner(self, db: Database, chat: str) -> str | None:
        found = await db.conversations.find_one({"chat_id": chat}, {"user_id": 1})
        return None if found is None else str(found["user_id"])

    @reading
    async def conversations(
        self, db: Database, user: str, *, after: str | None, limit: int
    ) -> list[Conversation]:
        await TRANSCRIPTS.recover(db, user)
        query: Document = {"user_id": user}
        if after is not None:
            query["chat_id"] = {"$gt": after}
        found = await db.conversations.find(query).sort("chat_id", 1).limit(limit).to_list()
        return [_conversation(document) for document in found]

    @reading
    async def conversation(self, db: Database, user: str, chat: str) -> Conversation | None:
        await TRANSCRIPTS.recover(db, user)
        found = await db.conversations.find_one({"chat_id": chat, "user_id": user})
        return None if found is None else _conversation(found)

    @writing
    async def rename(self, db: Database, user: str, chat: str, title: str | None) -> bool:
        key = {"chat_id": chat, "user_id": user}
        return bool((await db.conversations.update_one(key, {"$set": {"title": title}})).matched_count)

    @writing
    async def adopt(self, db: Database, chat: Conversation) -> None:
        await claimed(db, chat.id, chat.user, chat.created)
        key = {"chat_id": chat.id, "user_id": chat.user}
        fields = {"tip": chat.tip, "title": chat.title, "updated_at": stored_time(chat.updated)}
        await db.conversations.update_one(key, {"$set": fields})


async def claimed(
    db: Database, chat: str, user: str, created: datetime, *, asked: datetime | None = None
) -> Conversation:
    """The chat, created for `user` when it is new; `asked` as `at` of `Chats.claim` (None: not checked).

    The unique index decides a race; the loser sees the winner's user.
    """
    await TRANSCRIPTS.recover(db, user)
    found = await db.conversations.find_one({"chat_id": chat})
    if found is None:
        if asked is not None:
            (await forgotten(db, user)).epoch_after(asked)
        times = {"created_at": stored_time(created), "updated_at": stored_time(created)}
        found = {"chat_id": chat, "user_id": user, "tip": None, "tipped": 0, **times}
        try:
            await db.conversations.insert_one(found)
        except DuplicateKeyError:
            return await claimed(db, chat, user, created, asked=asked)
    return _conversation(found)


def _conversation(found: Document) -> Conversation:
    return Conversation(
        id=found["chat_id"],
        user=found["user_id"],
        tip=found["tip"],
        title=found.get("title"),
        created=datetime.fromisoformat(found["created_at"]),
        updated=datetime.fromisoformat(found["updated_at"]),
    )
