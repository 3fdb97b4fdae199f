"""Conversations and cycles in SQLite: plain functions of a connection, each run as one transaction."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from thoughtcycle.memory.records import Conversation, Cycle, MessageVector
from thoughtcycle.memory.storage.base import Amended, Begun, CycleFeed
from thoughtcycle.memory.storage.sqlite_memories import forgotten
from thoughtcycle.memory.storage.transcript_rows import Walk, links_of, same_words

_CHUNK = 500
_LAST = "SELECT max(number) FROM cycles WHERE user = ? AND number IS NOT NULL"


def claim(db: sqlite3.Connection, chat: str, user: str, at: datetime) -> Conversation:
    """See Storage.claim. The primary key decides a race; the loser sees the winner's user."""
    db.execute(
        "INSERT OR IGNORE INTO conversations (id, user, created, updated) VALUES (?, ?, ?, ?)",
        (chat, user, at.isoformat(), at.isoformat()),
    )
    return conversation(db, chat) or Conversation(id=chat, user=user, created=at, updated=at)


def conversation(db: sqlite3.Connection, chat: str) -> Conversation | None:
    """The chat as it is stored; None while nobody has claimed it."""
    query = "SELECT user, tip, title, created, updated FROM conversations WHERE id = ?"
    if (row := db.execute(query, (chat,)).fetchone()) is None:
        return None
    created, updated = map(datetime.fromisoformat, row[3:])
    return Conversation(id=chat, user=row[0], tip=row[1], title=row[2], created=created, updated=updated)


def owner(db: sqlite3.Connection, chat: str) -> str | None:
    """See Storage.owner."""
    row = db.execute("SELECT user FROM conversations WHERE id = ?", (chat,)).fetchone()
    return str(row[0]) if row else None


def add_cycle(db: sqlite3.Connection, cycle: Cycle) -> Cycle:
    """See Storage.add_cycle."""
    if (known := get_cycle(db, cycle.user, cycle.id)) is not None:
        return known
    db.execute(
        "INSERT INTO cycles (open, heartbeat, document, pending, number, id, user, chat, parent) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*_state(cycle), _number(db, cycle), cycle.id, cycle.user, cycle.chat, cycle.parent),
    )
    return cycle


def append_cycle(db: sqlite3.Connection, cycle: Cycle) -> Cycle:
    """See Storage.append_cycle."""
    if (known := get_cycle(db, cycle.user, cycle.id)) is not None:
        return known
    chat = conversation(db, cycle.chat)
    added = add_cycle(db, cycle.model_copy(update={"parent": chat.tip if chat else None}))
    _make_tip(db, added)
    return added


def _make_tip(db: sqlite3.Connection, cycle: Cycle) -> None:
    db.execute(
        "UPDATE conversations SET tip = ?, updated = ? WHERE id = ? AND user = ?",
        (cycle.id, cycle.heartbeat.isoformat(), cycle.chat, cycle.user),
    )


def get_cycle(db: sqlite3.Connection, user: str, id: str) -> Cycle | None:
    """See Storage.cycle."""
    row = db.execute("SELECT document FROM cycles WHERE id = ? AND user = ?", (id, user)).fetchone()
    return None if row is None else Cycle.model_validate_json(row[0])


def begin(
    db: sqlite3.Connection, user: str, chat: str, at: datetime, cycle: Callable[[Conversation], Cycle]
) -> Begun:
    """See Storage.begin."""
    known = claim(db, chat, user, at)
    if known.user != user:
        return Begun(known, None, ())
    left = open_cycles(db, user, chat, None)
    return Begun(known, add_cycle(db, cycle(known)), tuple(left))


def path(db: sqlite3.Connection, user: str, chat: str, tip: str, limit: int) -> list[Cycle]:
    """See Storage.path."""
    walk = Walk(chat, tip, limit)
    while walk.next is not None:
        walk.add(get_cycle(db, user, walk.next))
    return walk.closed


def amend_cycle(
    db: sqlite3.Connection, user: str, id: str, change: Callable[[Cycle], Cycle], tip: bool, anew: bool
) -> Amended | None:
    """See Storage.amend_cycle."""
    if (known := get_cycle(db, user, id)) is None:
        return None
    cycle = change(known)
    chat = conversation(db, cycle.chat)
    amended = Amended(cycle, chat.tip if chat else None)
    if not (tip or anew) and same_words(known, cycle):
        if cycle != known:
            query = "UPDATE cycles SET open = ?, heartbeat = ?, document = ?, pending = ?"
            db.execute(f"{query} WHERE id = ? AND user = ?", (*_state(cycle), id, user))
        return amended
    db.execute(
        "UPDATE cycles SET open = ?, heartbeat = ?, document = ?, pending = ?, number = ?, parent = ? "
        "WHERE id = ? AND user = ?",
        (*_state(cycle), _number(db, cycle), cycle.parent, id, user),
    )
    if known.closed:
        db.execute("DELETE FROM message_vectors WHERE cycle = ?", (id,))
    if tip:
        _make_tip(db, cycle)
    return amended


def _state(cycle: Cycle) -> tuple[bool, float, str, float | None]:
    pending = cycle.opened_at.timestamp() if cycle.formation == "pending" else None
    return not cycle.closed, cycle.heartbeat.timestamp(), cycle.model_dump_json(), pending


def _number(db: sqlite3.Connection, cycle: Cycle) -> int | None:
    """The next number of the user's closed cycles; None while the cycle is open."""
    return last(db, cycle.user) + 1 if cycle.closed else None


def last(db: sqlite3.Connection, user: str) -> int:
    """The last number of the user's closed cycles; without any, that up to which all is forgotten."""
    return int(db.execute(_LAST, (user,)).fetchone()[0] or forgotten(db, user)[1])


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


def links(db: sqlite3.Connection, user: str, chats: Collection[str]) -> dict[str, str | None]:
    """See Storage.links."""
    return links_of(_where_in(db, "SELECT id, parent, chat FROM cycles WHERE user = ? AND chat", chats, user))


def cycle_feed(db: sqlite3.Connection, user: str, after: int, model: str | None) -> CycleFeed:
    """See Storage.cycle_feed. Numbers are taken and written in one transaction."""
    number = last(db, user)
    if 0 < after <= forgotten(db, user)[1]:
        return CycleFeed(0, (), {}, ())  # what the index knows is forgotten
    query = "SELECT document FROM cycles WHERE user = ? AND number > ? ORDER BY number"
    cycles = tuple(Cycle.model_validate_json(row[0]) for row in db.execute(query, (user, after)))
    chats = dict.fromkeys(cycle.chat for cycle in cycles)
    tips = dict(_where_in(db, "SELECT id, tip FROM conversations WHERE id", chats))
    found: list[MessageVector] = []
    if model is not None:
        rows = _where_in(
            db,
            "SELECT cycle, digest, model, data FROM message_vectors WHERE cycle",
            [cycle.id for cycle in cycles],
        )
        names = ("cycle", "digest", "model", "data")
        found = [MessageVector(**dict(zip(names, row, strict=True))) for row in rows if row[2] == model]
    return CycleFeed(number, cycles, tips, tuple(found))


def _where_in(db: sqlite3.Connection, query: str, values: Collection[str], *given: str) -> Iterator[Any]:
    """Rows for which the column that ends `query` is one of `values`; SQLite allows only so many at once.

    `given` fill the places before it.
    """
    wanted = list(values)
    for start in range(0, len(wanted), _CHUNK):
        some = wanted[start : start + _CHUNK]
        yield from db.execute(f"{query} IN ({', '.join('?' * len(some))})", (*given, *some))


def keep_message_vectors(db: sqlite3.Connection, user: str, vectors: Sequence[MessageVector]) -> None:
    """See Storage.keep_message_vectors."""
    db.executemany(
        "INSERT OR REPLACE INTO message_vectors (cycle, model, digest, data) "
        "SELECT id, ?, ?, ? FROM cycles WHERE id = ? AND user = ?",
        [(vector.model, vector.digest, vector.data, vector.cycle, user) for vector in vectors],
    )
