"""Sheets and pending cycles in SQLite: plain functions of a connection, each run as one transaction."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.storage.sheet_port import Sheet, SheetKind, SheetName, as_sheet, stored_time

_FIELDS = "user, kind, id, revision, updated, document"
_ANNEX = (
    "(SELECT annex FROM sheet_annexes AS one "
    "WHERE one.user = sheets.user AND one.kind = sheets.kind AND one.id = sheets.id)"
)
_NAMED = "user = ? AND kind = ? AND id = ?"  # row values use no index
_CHUNK = 200
_OWNED = "EXISTS (SELECT 1 FROM conversations WHERE id = ? AND user = ?)"


def sheets(db: sqlite3.Connection, user: str, names: Sequence[SheetName], annexes: bool) -> list[Sheet]:
    """See SheetStorage.sheets."""
    found: list[Sheet] = []
    one = f"SELECT {_FIELDS}, {_ANNEX if annexes else 'NULL'} FROM sheets WHERE {_NAMED}"
    for start in range(0, len(names), _CHUNK):
        some = names[start : start + _CHUNK]
        query = " UNION ALL ".join([one] * len(some))
        values = [value for name in some for value in (user, *name)]
        found += [_sheet(row) for row in db.execute(query, values)]
    return found


def put(
    db: sqlite3.Connection,
    user: str,
    name: SheetName,
    document: str,
    before: int,
    at: datetime,
    annex: str | None,
) -> bool:
    """See SheetStorage.put_sheet."""
    stored = _put(db, user, name, document, before, at)
    if stored and annex is not None:
        db.execute(f"DELETE FROM sheet_annexes WHERE {_NAMED}", (user, *name))
        if annex:
            db.execute(
                "INSERT INTO sheet_annexes (user, kind, id, annex) VALUES (?, ?, ?, ?)", (user, *name, annex)
            )
    return stored


def _put(
    db: sqlite3.Connection, user: str, name: SheetName, document: str, before: int, at: datetime
) -> bool:
    values = (before + 1, stored_time(at), document, user, *name)
    if before:
        query = f"UPDATE sheets SET revision = ?, updated = ?, document = ? WHERE {_NAMED} AND revision = ?"
        return bool(db.execute(query, (*values, before)).rowcount)
    _clear_place(db, user, name)
    query = (
        "INSERT OR IGNORE INTO sheets (revision, updated, document, user, kind, id) VALUES (?, ?, ?, ?, ?, ?)"
    )
    return bool(db.execute(query, values).rowcount)


def _clear_place(db: sqlite3.Connection, user: str, name: SheetName) -> None:
    """What stands, moved there by hand, in the place of the sheet of a chat of the user's goes."""
    kind, id = name
    if kind == "conversation":
        db.execute(
            f"DELETE FROM sheets WHERE kind = ? AND id = ? AND user <> ? AND {_OWNED}",
            (*name, user, id, user),
        )


def drop(db: sqlite3.Connection, user: str, name: SheetName, at: datetime) -> None:
    """See SheetStorage.drop_sheet. What stands in the place of another's, moved there by hand, goes."""
    kind, id = name
    if kind == "conversation":
        there = "kind = ? AND id = ? AND user = ?"
        other = "EXISTS (SELECT 1 FROM conversations WHERE id = ? AND user <> ?)"
        if db.execute(f"DELETE FROM sheets WHERE {there} AND {other}", (*name, user, id, user)).rowcount:
            return
    _clear_place(db, user, name)
    db.execute(
        "INSERT INTO sheets (revision, updated, document, user, kind, id) VALUES (1, ?, NULL, ?, ?, ?) "
        "ON CONFLICT (user, kind, id) DO UPDATE SET "
        "revision = CASE WHEN typeof(revision) = 'integer' AND revision > 0 THEN revision + 1 ELSE 1 END, "
        "updated = excluded.updated, document = NULL "
        "ON CONFLICT DO NOTHING",  # another's sheet of a chat that is nobody's
        (stored_time(at), user, *name),
    )
    db.execute(f"DELETE FROM sheet_annexes WHERE {_NAMED}", (user, *name))


def page(db: sqlite3.Connection, user: str, kind: SheetKind, limit: int, offset: int) -> list[Sheet]:
    """See SheetStorage.sheet_page."""
    query = (
        f"SELECT {_FIELDS}, {_ANNEX} FROM sheets WHERE user = ? AND kind = ? AND document IS NOT NULL "
        "ORDER BY updated DESC, id DESC LIMIT ? OFFSET ?"
    )
    return [_sheet(row) for row in db.execute(query, (user, kind, limit, offset))]


def pending_cycles(db: sqlite3.Connection, user: str | None, limit: int) -> list[Cycle]:
    """See SheetStorage.pending_cycles."""
    own, values = ("", ()) if user is None else ("AND user = ?", (user,))
    query = f"SELECT document FROM cycles WHERE pending IS NOT NULL {own} ORDER BY pending, number LIMIT ?"
    return [Cycle.model_validate_json(row[0]) for row in db.execute(query, (*values, limit))]


def pending_users(db: sqlite3.Connection, limit: int) -> list[str]:
    """See SheetStorage.pending_users."""
    query = (
        "SELECT user FROM cycles WHERE pending IS NOT NULL GROUP BY user ORDER BY min(pending), user LIMIT ?"
    )
    return [str(row[0]) for row in db.execute(query, (limit,))]


def _sheet(row: tuple[str, SheetKind, str, Any, Any, Any, Any]) -> Sheet:
    user, kind, id, revision, updated, document, annex = row
    return as_sheet(user, kind, id, revision=revision, updated=updated, document=document, annex=annex)
