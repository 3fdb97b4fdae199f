"""Documents with their entries, and settings, in SQLite."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from sqlite3 import Connection
from typing import Any

from thoughtcycle.memory.storage.base.documents import (
    SETTINGS,
    DocumentKind,
    DocumentName,
    Documents,
    Entries,
    StoredDocument,
    as_document,
    stored_time,
)
from thoughtcycle.memory.storage.sqlite.database import Repository, marks, reading, writing

_FIELDS = "number, user, kind, id, revision, updated, document"
_NAMED = "user = ? AND kind = ? AND id = ?"  # row values use no index
_CHUNK = 200


class SqliteDocuments(Documents, Repository):
    @reading
    def find(
        self,
        db: Connection,
        user: str,
        names: Sequence[DocumentName],
        *,
        parts: Collection[str] | None = None,
    ) -> list[StoredDocument]:
        found: list[StoredDocument] = []
        one = f"SELECT {_FIELDS} FROM documents WHERE {_NAMED}"
        for start in range(0, len(names), _CHUNK):
            some = names[start : start + _CHUNK]
            query = " UNION ALL ".join([one] * len(some))
            values = [value for name in some for value in (user, *name)]
            found += [_document(db, row, parts) for row in db.execute(query, values)]
        return found

    @writing
    def put(
        self,
        db: Connection,
        user: str,
        name: DocumentName,
        document: str,
        *,
        before: int,
        at: datetime,
        entries: Entries | None = None,
    ) -> bool:
        self._database.check_epoch(db, user)
        if not _put(db, user, name, document, before, at):
            return False
        if entries:
            ((number,),) = db.execute(f"SELECT number FROM documents WHERE {_NAMED}", (user, *name))
            for part, rows in entries.items():
                _put_part(db, number, part, rows)
        return True

    @writing
    def drop(self, db: Connection, user: str, name: DocumentName, *, at: datetime) -> None:
        """Deletes the document instead where it was moved by hand to another user's chat."""
        self._database.check_epoch(db, user)
        kind, id = name
        if kind == "conversation":
            there = "kind = ? AND id = ? AND user = ?"
            other = "EXISTS (SELECT 1 FROM conversations WHERE id = ? AND user <> ?)"
            moved = f"DELETE FROM documents WHERE {there} AND {other}"
            if db.execute(moved, (*name, user, id, user)).rowcount:
                return
        _clear_place(db, user, name)
        db.execute(
            "INSERT INTO documents (revision, updated, user, kind, id) VALUES (1, ?, ?, ?, ?) "
            "ON CONFLICT (user, kind, id) DO UPDATE SET "
            "revision = CASE WHEN typeof(revision) = 'integer' AND revision > 0 "
            "THEN revision + 1 ELSE 1 END, updated = excluded.updated, document = NULL "
            "ON CONFLICT DO NOTHING",  # another's document of a chat that is nobody's
            (stored_time(at), user, *name),
        )
        number = f"SELECT number FROM documents WHERE {_NAMED}"
        db.execute(f"DELETE FROM conversation_entries WHERE conversation = ({number})", (user, *name))

    @reading
    def page(
        self, db: Connection, user: str, kind: DocumentKind, *, limit: int, offset: int
    ) -> list[StoredDocument]:
        query = f"SELECT {_FIELDS} FROM documents WHERE user = ? AND kind = ? AND document IS NOT NULL"
        page = f"{query} ORDER BY updated DESC, id DESC LIMIT ? OFFSET ?"
        return [_document(db, row, None) for row in db.execute(page, (user, kind, limit, offset))]

    @reading
    def settings(self, db: Connection, user: str) -> Mapping[str, Any] | None:
        return _settings(db, user)

    @writing
    def change_settings(self, db: Connection, user: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        self._database.check_epoch(db, user)
        db.execute("INSERT OR IGNORE INTO settings (user) VALUES (?)", (user,))
        names = [name for name in SETTINGS if name in fields]
        number = "CASE WHEN typeof(revision) = 'integer' THEN revision + 1 ELSE 1 END"
        changes = ", ".join([f"revision = {number}", *(f"{name} = ?" for name in names)])
        db.execute(f"UPDATE settings SET {changes} WHERE user = ?", (*(fields[name] for name in names), user))
        return _settings(db, user) or {}


def _put(db: Connection, user: str, name: DocumentName, document: str, before: int, at: datetime) -> bool:
    values = (before + 1, stored_time(at), document, user, *name)
    if before:
        query = f"UPDATE documents SET revision = ?, updated = ?, document = ? WHERE {_NAMED}"
        return bool(db.execute(f"{query} AND revision = ?", (*values, before)).rowcount)
    _clear_place(db, user, name)
    query = "INSERT OR IGNORE INTO documents (revision, updated, document, user, kind, id)"
    return bool(db.execute(f"{query} VALUES (?, ?, ?, ?, ?, ?)", values).rowcount)


def _put_part(db: Connection, number: int, part: str, entries: Sequence[str]) -> None:
    """Writes what is not there as it is, and deletes what comes behind."""
    key = (number, part)
    query = "SELECT place, document FROM conversation_entries WHERE conversation = ? AND part = ?"
    stored = dict(db.execute(query, key).fetchall())
    db.executemany(
        "INSERT OR REPLACE INTO conversation_entries VALUES (?, ?, ?, ?)",
        [(*key, place, text) for place, text in enumerate(entries) if stored.get(place) != text],
    )
    if len(stored) > len(entries):
        behind = "conversation = ? AND part = ? AND place >= ?"
        db.execute(f"DELETE FROM conversation_entries WHERE {behind}", (*key, len(entries)))


def _clear_place(db: Connection, user: str, name: DocumentName) -> None:
    """Deletes documents of others that were moved by hand to a chat of the user."""
    kind, id = name
    if kind == "conversation":
        owned = "EXISTS (SELECT 1 FROM conversations WHERE id = ? AND user = ?)"
        moved = f"DELETE FROM documents WHERE kind = ? AND id = ? AND user <> ? AND {owned}"
        db.execute(moved, (*name, user, id, user))


def _settings(db: Connection, user: str) -> dict[str, Any] | None:
    row = db.execute(f"SELECT {', '.join(SETTINGS)} FROM settings WHERE user = ?", (user,)).fetchone()
    return dict(zip(SETTINGS, row, strict=True)) if row is not None else None


def _document(
    db: Connection, row: tuple[int, str, DocumentKind, str, Any, Any, Any], parts: Collection[str] | None
) -> StoredDocument:
    """The document of a row, with its entries of these parts."""
    number, user, kind, id, *stored = row
    some = "" if parts is None else f"AND part IN ({marks(parts)})"
    query = f"SELECT part, document FROM conversation_entries WHERE conversation = ? {some}"
    entries: dict[str, list[Any]] = {}
    if kind == "conversation":
        for part, text in db.execute(f"{query} ORDER BY part, place", (number, *(parts or ()))):
            entries.setdefault(part, []).append(text)
    return as_document(user, (kind, id), stored, entries, parts is not None)
