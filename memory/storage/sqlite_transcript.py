"""Conversations and cycles in SQLite: plain functions of a connection, each run as one transaction."""

import sqlite3
from collections.abc import Callable
from datetime import datetime
from typing import Any

from thoughtcycle.memory.records import Conversation, Cycle


def claim(db: sqlite3.Connection, chat: str, user: str, at: datetime) -> Conversation:
    """See Storage.claim. The primary key decides a race; the loser sees the winner's user."""
    db.execute(
        "INSERT OR IGNORE INTO conversations (id, user, created, updated) VALUES (?, ?, ?, ?)",
        (chat, user, at.isoformat(), at.isoformat()),
    )
    row = db.execute("SELECT user, tip, created, updated FROM conversations WHERE id = ?", (chat,)).fetchone()
    created, updated = map(datetime.fromisoformat, row[2:])
    return Conversation(id=chat, user=row[0], tip=row[1], created=created, updated=updated)


def owner(db: sqlite3.Connection, chat: str) -> str | None:
    """See Storage.owner."""
    row = db.execute("SELECT user FROM conversations WHERE id = ?", (chat,)).fetchone()
    return str(row[0]) if row else None


def add_cycle(db: sqlite3.Connection, cycle: Cycle) -> Cycle:
    """See Storage.add_cycle."""
    if (known := get_cycle(db, cycle.user, cycle.id)) is not None:
        return known
    db.execute(
        "INSERT INTO cycles (open, heartbeat, document, id, user, chat, parent) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*_state(cycle), cycle.id, cycle.user, cycle.chat, cycle.parent),
    )
    return cycle


def get_cycle(db: sqlite3.Connection, user: str, id: str) -> Cycle | None:
    """See Storage.cycle."""
    row = db.execute("SELECT document FROM cycles WHERE id = ? AND user = ?", (id, user)).fetchone()
    return None if row is None else Cycle.model_validate_json(row[0])


def amend_cycle(
    db: sqlite3.Connection, user: str, id: str, change: Callable[[Cycle], Cycle], tip: bool
) -> Cycle | None:
    """See Storage.amend_cycle."""
    if (known := get_cycle(db, user, id)) is None:
        return None
    cycle = change(known)
    db.execute(
        "UPDATE cycles SET open = ?, heartbeat = ?, document = ? WHERE id = ? AND user = ?",
        (*_state(cycle), id, user),
    )
    if tip:
        db.execute(
            "UPDATE conversations SET tip = ?, updated = ? WHERE id = ? AND user = ?",
            (id, cycle.heartbeat.isoformat(), cycle.chat, user),
        )
    return cycle


def _state(cycle: Cycle) -> tuple[bool, float, str]:
    return not cycle.closed, cycle.heartbeat.timestamp(), cycle.model_dump_json()


def open_cycles(
    db: sqlite3.Connection, user: str | None, chat: str | None, before: datetime | None
) -> list[Cycle]:
    """See Storage.open_cycles."""
    where, values = ["open = 1"], []
    more: list[tuple[str, Any]] = [
        ("user = ?", user),
        ("chat = ?", chat),
        ("heartbeat < ?", before.timestamp() if before else None),
    ]
    for condition, value in more:
        if value is not None:
            where.append(condition)
            values.append(value)
    rows = db.execute(f"SELECT document FROM cycles WHERE {' AND '.join(where)} ORDER BY heartbeat", values)
    return [Cycle.model_validate_json(row[0]) for row in rows]


def links(db: sqlite3.Connection, user: str, chat: str) -> dict[str, str | None]:
    """See Storage.links."""
    rows = db.execute("SELECT id, parent FROM cycles WHERE chat = ? AND user = ?", (chat, user))
    return dict(rows.fetchall())
