"""Chats in SQLite."""

from datetime import datetime
from sqlite3 import Connection

from thoughtcycle.memory.model import Conversation
from thoughtcycle.memory.storage.base.chats import Chats
from thoughtcycle.memory.storage.sqlite.database import Repository, reading, writing

_CHAT = "SELECT id, user, tip, title, created, updated FROM conversations"


class SqliteChats(Chats, Repository):
    async def claim(
        self, chat: str, user: str, at: datetime, *, created: datetime | None = None
    ) -> Conversation:
        # Known chats are only read: a write would wait for the checkpointer, which shares the file.
        return await self._known(chat) or await self._create(chat, user, at, created or at)

    @reading
    def _known(self, db: Connection, chat: str) -> Conversation | None:
        return stored_chat(db, chat)

    @writing
    def _create(self, db: Connection, chat: str, user: str, at: datetime, created: datetime) -> Conversation:
        self._database.begin_epoch(db, user, at)
        return claimed(db, chat, user, created)

    @reading
    def owner(self, db: Connection, chat: str) -> str | None:
        row = db.execute("SELECT user FROM conversations WHERE id = ?", (chat,)).fetchone()
        return str(row[0]) if row else None

    @reading
    def conversations(
        self, db: Connection, user: str, *, after: str | None, limit: int
    ) -> list[Conversation]:
        query = f"{_CHAT} WHERE user = ? AND id > ? ORDER BY id LIMIT ?"
        return [_conversation(*row) for row in db.execute(query, (user, after or "", limit))]

    @reading
    def conversation(self, db: Connection, user: str, chat: str) -> Conversation | None:
        row = db.execute(f"{_CHAT} WHERE id = ? AND +user = ?", (chat, user)).fetchone()
        return None if row is None else _conversation(*row)

    @writing
    def rename(self, db: Connection, user: str, chat: str, title: str | None) -> bool:
        query = "UPDATE conversations SET title = ? WHERE id = ? AND user = ?"
        return bool(db.execute(query, (title, chat, user)).rowcount)

    @writing
    def adopt(self, db: Connection, chat: Conversation) -> None:
        db.execute(
            "INSERT INTO conversations (id, user, tip, title, created, updated) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET tip = excluded.tip, title = excluded.title, "
            "updated = excluded.updated WHERE user = excluded.user",
            (chat.id, chat.user, chat.tip, chat.title, chat.created.isoformat(), chat.updated.isoformat()),
        )


def claimed(db: Connection, chat: str, user: str, at: datetime) -> Conversation:
    """The chat, created for `user` when it is new. The primary key decides a race."""
    db.execute(
        "INSERT OR IGNORE INTO conversations (id, user, created, updated) VALUES (?, ?, ?, ?)",
        (chat, user, at.isoformat(), at.isoformat()),
    )
    return stored_chat(db, chat) or Conversation(id=chat, user=user, created=at, updated=at)


def stored_chat(db: Connection, chat: str) -> Conversation | None:
    """The chat as it is stored; None while nobody has claimed it."""
    row = db.execute(f"{_CHAT} WHERE id = ?", (chat,)).fetchone()
    return None if row is None else _conversation(*row)


def _conversation(
    id: str, user: str, tip: str | None, title: str | None, created: str, updated: str
) -> Conversation:
    times = {"created": datetime.fromisoformat(created), "updated": datetime.fromisoformat(updated)}
    return Conversation(id=id, user=user, tip=tip, title=title, **times)
