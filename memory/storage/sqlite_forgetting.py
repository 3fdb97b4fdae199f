"""Forgetting a user in SQLite: plain functions of a connection, each run as one transaction."""

import json
import sqlite3
from collections.abc import Collection, Mapping
from datetime import datetime

from thoughtcycle.memory.storage.forgetting import Pulse, hashed

OWNED = {
    "accesses": "space",
    "vectors": "space",
    "memories": "space",
    "journal": "space",
    "cycles": "user",
    "conversations": "user",
    "jobs": "user",
    "sheet_annexes": "user",
    "sheets": "user",
    "tombstones": "user",
    "erasure_keys": "user",
    "files": "user",
    "channel_links": "user",
    "link_codes": "user",
}
"""Table → column that names the user, children first; `message_vectors` go with cycles."""
_USERS = {"user", "space", "owner"}
_IDS = {"id", "chat", "parent", "tip", "cycle", "memory", "current", "nosqlId", "thread_id"}
_DOCUMENTS = {"document", "before", "annex"}


def epoch(db: sqlite3.Connection, user: str) -> int:
    """See Forgetting.epoch."""
    row = db.execute("SELECT epoch FROM forgotten WHERE user = ?", (hashed(user),)).fetchone()
    return int(row[0]) if row else 0


def forgotten(db: sqlite3.Connection, user: str) -> datetime | None:
    """See Forgetting.forgotten."""
    row = db.execute("SELECT at FROM forgotten WHERE user = ?", (hashed(user),)).fetchone()
    return datetime.fromisoformat(row[0]) if row and row[0] else None


def pulse(db: sqlite3.Connection, user: str) -> Pulse:
    """See Forgetting.pulse."""
    query = "SELECT number, at, memory FROM journal WHERE space = ? ORDER BY number DESC LIMIT 1"
    rows = db.execute(query, (user,)).fetchall()
    last = tuple((number, datetime.fromisoformat(at), memory) for number, at, memory in rows)
    return Pulse(last, forgotten(db, user))


def forget(db: sqlite3.Connection, user: str, at: datetime) -> Mapping[str, int]:
    """See Forgetting.forget."""
    last = {
        "journal": "SELECT max(number) FROM journal WHERE space = ?",
        "cycles": "SELECT max(number) FROM cycles WHERE user = ?",
    }
    numbers = {name: int(db.execute(query, (user,)).fetchone()[0] or 0) + 1 for name, query in last.items()}
    counts = {"message_vectors": _of_cycles(db, user)}
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, column in OWNED.items():
        if table in there:
            counts[table] = db.execute(f"DELETE FROM {table} WHERE {column} = ?", (user,)).rowcount
    db.execute(
        "INSERT INTO forgotten (user, epoch, journal, cycles, at) VALUES (?, 1, ?, ?, ?) "
        "ON CONFLICT (user) DO UPDATE SET epoch = epoch + 1, at = excluded.at, "
        "journal = max(journal, excluded.journal), cycles = max(cycles, excluded.cycles)",
        (hashed(user), numbers["journal"], numbers["cycles"], at.isoformat()),
    )
    return {table: count for table, count in counts.items() if count}


def _of_cycles(db: sqlite3.Connection, user: str) -> int:
    query = "DELETE FROM message_vectors WHERE cycle IN (SELECT id FROM cycles WHERE user = ?)"
    return db.execute(query, (user,)).rowcount


def traces(db: sqlite3.Connection, user: str, ids: Collection[str]) -> Mapping[str, int]:
    """See Forgetting.traces."""
    wanted = frozenset(ids)
    names = [f'"{name}":{text}' for name in ("user", "space", "memoriesId") for text in _quoted(user)]

    def told(text: object) -> bool:
        return isinstance(text, str) and any(name in text for name in names)

    db.create_function("is_user", 1, lambda value: value == user)
    db.create_function("is_id", 1, lambda value: value in wanted)
    db.create_function("tells", 1, told)
    found = {}
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    for (table,) in tables.fetchall():
        columns = {row[1] for row in db.execute(f'PRAGMA table_info("{table}")')}
        tests = [f'is_user("{column}")' for column in columns & _USERS]
        tests += [f'is_id("{column}")' for column in columns & _IDS] if wanted else []
        tests += [f'tells("{column}")' for column in columns & _DOCUMENTS]
        if tests:
            query = f'SELECT count(*) FROM "{table}" WHERE {" OR ".join(tests)}'
            found[table] = int(db.execute(query).fetchone()[0])
    return {table: count for table, count in found.items() if count}


def _quoted(user: str) -> set[str]:
    return {json.dumps(user), json.dumps(user, ensure_ascii=False)}
