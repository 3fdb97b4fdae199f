"""Everything of one user in SQLite, page by page: plain functions of a connection."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from thoughtcycle.memory.records import STATUSES, Conversation, Cycle, JournalEntry, MemoryRecord, Status
from thoughtcycle.memory.storage.documents import loads
from thoughtcycle.memory.storage.sqlite_memories import journal_rows

_CHUNK = 500
_PAGE_OF_STATUS = (
    "SELECT document FROM memories WHERE space = ? AND status = ? AND revision > ? ORDER BY revision LIMIT ?"
)
_OF_STATUS = (
    "SELECT * FROM (SELECT revision, rowid AS place FROM memories "
    "WHERE space = ? AND status = ? AND revision > ? ORDER BY revision LIMIT ?)"
)
_PAGE = (
    "SELECT document FROM memories JOIN "
    f"(SELECT * FROM ({' UNION ALL '.join([_OF_STATUS] * len(STATUSES))}) ORDER BY revision LIMIT ?) "
    "AS found ON memories.rowid = place ORDER BY found.revision"
)


_CHAT = "SELECT id, user, tip, title, created, updated FROM conversations"


def conversations(db: sqlite3.Connection, user: str, after: str | None, limit: int) -> list[Conversation]:
    """See WholeUser.conversations."""
    rows = db.execute(f"{_CHAT} WHERE user = ? AND id > ? ORDER BY id LIMIT ?", (user, after or "", limit))
    return [_conversation(*row) for row in rows]


def conversation(db: sqlite3.Connection, user: str, chat: str) -> Conversation | None:
    """See WholeUser.conversation."""
    row = db.execute(f"{_CHAT} WHERE id = ? AND +user = ?", (chat, user)).fetchone()
    return None if row is None else _conversation(*row)


def _conversation(
    id: str, user: str, tip: str | None, title: str | None, created: str, updated: str
) -> Conversation:
    times = {"created": datetime.fromisoformat(created), "updated": datetime.fromisoformat(updated)}
    return Conversation(id=id, user=user, tip=tip, title=title, **times)


def cycles(db: sqlite3.Connection, user: str, ids: Sequence[str]) -> list[Cycle]:
    """See WholeUser.cycles."""
    found: dict[str, Cycle] = {}
    for start in range(0, len(ids), _CHUNK):
        some = ids[start : start + _CHUNK]
        marks = ", ".join("?" * len(some))
        query = f"SELECT id, document FROM cycles WHERE +user = ? AND id IN ({marks})"
        found |= {id: Cycle.model_validate_json(text) for id, text in db.execute(query, (user, *some))}
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def page(
    db: sqlite3.Connection, space: str, after: int, limit: int, status: Status | None
) -> list[MemoryRecord]:
    """See WholeUser.page. Each status has its own order in the index; they are merged."""
    if status is not None:
        rows = db.execute(_PAGE_OF_STATUS, (space, status, after, limit))
    else:
        values = [value for status in STATUSES for value in (space, status, after, limit)]
        rows = db.execute(_PAGE, (*values, limit))
    return [loads(row[0]) for row in rows]


def changes(db: sqlite3.Connection, space: str, after: int, limit: int) -> list[JournalEntry]:
    """See WholeUser.changes."""
    return journal_rows(db, "space = ? AND number > ? ORDER BY number LIMIT ?", (space, after, limit))


def rename(db: sqlite3.Connection, user: str, chat: str, title: str | None) -> bool:
    """See WholeUser.rename."""
    changed = db.execute("UPDATE conversations SET title = ? WHERE id = ? AND user = ?", (title, chat, user))
    return bool(changed.rowcount)


def strangers(
    db: sqlite3.Connection, user: str, chats: Sequence[str], cycles: Sequence[str], memories: Sequence[str]
) -> bool:
    """See WholeUser.strangers."""
    places = (("conversations", "user", chats), ("cycles", "user", cycles), ("memories", "space", memories))
    for table, owner, ids in places:
        for start in range(0, len(ids), _CHUNK):
            some = ids[start : start + _CHUNK]
            query = (
                f"SELECT 1 FROM {table} WHERE id IN ({', '.join('?' * len(some))}) AND +{owner} != ? LIMIT 1"
            )
            if db.execute(query, (*some, user)).fetchone() is not None:
                return True
    return False


def adopt(db: sqlite3.Connection, chat: Conversation) -> None:
    """See WholeUser.adopt."""
    db.execute(
        "INSERT INTO conversations (id, user, tip, title, created, updated) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET tip = excluded.tip, title = excluded.title, "
        "updated = excluded.updated WHERE user = excluded.user",
        (chat.id, chat.user, chat.tip, chat.title, chat.created.isoformat(), chat.updated.isoformat()),
    )
