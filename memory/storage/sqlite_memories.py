"""Memories, vectors and journal in SQLite: plain functions of a connection, each run as one transaction."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from thoughtcycle.memory.records import JournalEntry, MemoryRecord, Status, Vector
from thoughtcycle.memory.storage.base import Block, Conflict, Feed, Names, Write
from thoughtcycle.memory.storage.documents import (
    SEARCHED,
    blocks_of,
    dumps,
    entries_of,
    identity_of,
    loads,
    parsed,
    was_valid,
)
from thoughtcycle.memory.storage.forgetting import hashed
from thoughtcycle.memory.storage.standing import Asked, Standing

T = TypeVar("T")

_CHUNK = 500
_COLUMNS = ("space", "revision", "status", "key", "identity", "cycle", "current", "document", "id")
_INSERT = f"INSERT INTO memories ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_STANDING = f"SELECT {', '.join(_COLUMNS[:-2])} FROM memories WHERE id = ?"
_VECTOR = "id, space, nosqlId, text, model, data"
_JOURNAL = "space, number, at, op, memory, cycle, before, undoes"


def commit(db: sqlite3.Connection, space: str, writes: Sequence[Write]) -> list[MemoryRecord]:
    """See Storage.commit."""
    number = head(db, space)
    stored = []
    for write in writes:
        number += 1
        record = write.record.model_copy(update={"revision": number})
        _put(db, space, record, write.before)
        if write.vectors is not None:
            _put_vectors(db, space, record, write.vectors, new=write.before is None)
        if record.status == "erased":
            db.execute("DELETE FROM accesses WHERE memory = ?", (record.id,))
        before = dumps(write.remembered, aside=write.op == "archive" or None)
        row = (space, number, write.at.isoformat(), write.op, record.id, write.cycle, before, write.undoes)
        db.execute(f"INSERT INTO journal ({_JOURNAL}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        if write.op == "erase":
            db.execute("UPDATE journal SET before = NULL WHERE space = ? AND memory = ?", (space, record.id))
        stored.append(record)
    return stored


def save(
    db: sqlite3.Connection, space: str, asked: Asked, plan: Callable[[Standing], tuple[Sequence[Write], T]]
) -> tuple[list[MemoryRecord], T]:
    """See Storage.save."""
    standing = Standing([*same(db, space, asked.identities, asked.keys), *records(db, space, asked.ids)])
    if merged := standing.merged():
        standing = Standing([*standing.records, *records(db, space, merged)])
    standing = Standing(standing.records, vectors(db, space, standing.holding(asked.keys)))
    writes, told = plan(standing)
    return commit(db, space, writes), told


def _put(db: sqlite3.Connection, space: str, record: MemoryRecord, before: MemoryRecord | None) -> None:
    if record.space != space:
        raise ValueError(f"memory {record.id!r} is of another space")
    fields = (record.revision, record.status, record.key, identity_of(record), record.source.cycle)
    row = (space, *fields, record.current, dumps(record), record.id)
    try:
        if before is None:  # of a new one the unique id tells
            db.execute(_INSERT, row)
        else:
            _update(db, row, before.revision)
    except sqlite3.IntegrityError as error:
        raise Conflict from error


def _update(db: sqlite3.Connection, row: Sequence[Any], revision: int) -> None:
    """Writes the columns that change: each one named would be put into its indexes anew."""
    stood = db.execute(_STANDING, row[-1:]).fetchone()
    if stood is None or stood[:2] != (row[0], revision):
        raise Conflict
    changed = [(name, now) for name, now, was in zip(_COLUMNS, row, stood, strict=False) if now != was]
    changed.append(("document", row[-2]))
    names = ", ".join(f"{name} = ?" for name, _ in changed)
    db.execute(f"UPDATE memories SET {names} WHERE id = ?", (*(now for _, now in changed), row[-1]))


def _put_vectors(
    db: sqlite3.Connection, space: str, record: MemoryRecord, vectors: Sequence[Vector], *, new: bool
) -> None:
    if tuple(vector.id for vector in vectors) != record.vector_ids:
        raise ValueError(f"the vectors of memory {record.id!r} are not those that it lists")
    if not new:
        db.execute("DELETE FROM vectors WHERE nosqlId = ? AND space = ?", (record.id, space))
    for vector in vectors:
        row = (vector.id, space, record.id, vector.text, vector.model, vector.data)
        db.execute(f"INSERT INTO vectors ({_VECTOR}) VALUES (?, ?, ?, ?, ?, ?)", row)


def head(db: sqlite3.Connection, space: str) -> int:
    """The last journal number of a space; where it has none, that up to which it was forgotten, else 0."""
    row = db.execute("SELECT max(number) FROM journal WHERE space = ?", (space,)).fetchone()
    return int(row[0] or forgotten(db, space)[0])


def forgotten(db: sqlite3.Connection, user: str) -> tuple[int, int]:
    """The numbers of the journal and of cycles up to which a user was forgotten; 0 where never."""
    query = "SELECT journal, cycles FROM forgotten WHERE user = ?"
    row = db.execute(query, (hashed(user),)).fetchone()
    return (row[0], row[1]) if row else (0, 0)


def where_in(
    db: sqlite3.Connection, what: str, space: str, column: str, values: Collection[str], more: str = ""
) -> Iterator[Any]:
    """Rows of a space whose `column` is one of `values`; SQLite allows only so many at once."""
    wanted = list(dict.fromkeys(values))
    # Without statistics SQLite takes a space to be small and would read all of it; the + forbids that.
    owned = "+space" if column == "id" else "space"
    for start in range(0, len(wanted), _CHUNK):
        some = wanted[start : start + _CHUNK]
        marks = ", ".join("?" * len(some))
        query = f"SELECT {what} WHERE {owned} = ? AND {column} IN ({marks}) {more}"
        yield from db.execute(query, (space, *some))


def documents(
    db: sqlite3.Connection, space: str, column: str, values: Collection[str], more: str = ""
) -> list[MemoryRecord]:
    """Documents of a space whose `column` is one of `values`; `more` is a further condition."""
    rows = where_in(db, "document FROM memories", space, column, values, more)
    return [loads(row[0]) for row in rows]


def records(db: sqlite3.Connection, space: str, ids: Sequence[str]) -> list[MemoryRecord]:
    """See Storage.records."""
    found = {record.id: record for record in documents(db, space, "id", ids)}
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def same(
    db: sqlite3.Connection, space: str, identities: Collection[str], keys: Collection[str]
) -> list[MemoryRecord]:
    """See Storage.same."""
    found = documents(db, space, "identity", identities, "AND status = 'active'")
    found += documents(db, space, "key", keys, "AND status = 'active'")
    return list({record.id: record for record in found}.values())


def versions(db: sqlite3.Connection, space: str, ids: Collection[str]) -> list[MemoryRecord]:
    """See Storage.versions."""
    found = documents(db, space, "current", ids, "AND status != 'erased'")
    latest = [(record.valid_to or record.valid_from, record.revision, record) for record in found]
    return [record for _, _, record in sorted(latest, key=lambda row: row[:2], reverse=True)]


def of_cycles(db: sqlite3.Connection, space: str, cycles: Collection[str]) -> list[MemoryRecord]:
    """See Storage.of_cycles."""
    return documents(db, space, "cycle", cycles, "AND status IN ('active', 'archived', 'hidden')")


def listing(
    db: sqlite3.Connection, space: str, statuses: Collection[Status], limit: int | None, offset: int
) -> list[MemoryRecord]:
    """See Storage.listing."""
    marks = ", ".join("?" * len(statuses))
    rows = db.execute(
        f"SELECT document FROM memories WHERE space = ? AND status IN ({marks}) "
        "ORDER BY revision DESC LIMIT ? OFFSET ?",
        (space, *statuses, -1 if limit is None else limit, offset),
    )
    return [loads(row[0]) for row in rows]


def vectors(db: sqlite3.Connection, space: str, memories: Collection[str]) -> list[Vector]:
    """See Storage.vectors."""
    rows = where_in(db, f"{_VECTOR} FROM vectors", space, "nosqlId", memories)
    names = ("id", "space", "memory", "text", "model", "data")
    return [Vector(**dict(zip(names, row, strict=True))) for row in rows]


def journal(
    db: sqlite3.Connection, space: str, memories: Names, before: int | None, limit: int | None
) -> list[JournalEntry]:
    """See Storage.journal."""
    below = "" if before is None else f"AND number < {int(before)}"
    most = -1 if limit is None else int(limit)
    order = f"{below} ORDER BY number DESC LIMIT {most}"
    if memories is None:
        return journal_rows(db, f"space = ? {order}", (space,))
    found = [
        _entry(*row) for row in where_in(db, f"{_JOURNAL} FROM journal", space, "memory", memories, order)
    ]
    return sorted(found, key=lambda entry: -entry.number)[:limit]


def journal_rows(db: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[JournalEntry]:
    """The rows that fit `where`, in its order."""
    return [_entry(*row) for row in db.execute(f"SELECT {_JOURNAL} FROM journal WHERE {where}", values)]


def _entry(
    space: str, number: int, at: str, op: Any, memory: str, cycle: str | None, before: str | None, undoes: int
) -> JournalEntry:
    return JournalEntry(
        space=space,
        number=number,
        at=datetime.fromisoformat(at),
        op=op,
        memory=memory,
        cycle=cycle,
        before=loads(before) if before is not None else None,
        undoes=undoes,
    )


def feed(db: sqlite3.Connection, space: str, after: int, model: str | None) -> Feed:
    """See Storage.feed. A write's document and row come in one transaction, so the numbers have no gap."""
    number = head(db, space)
    if number == after:
        return Feed(number, (), ())
    if 0 < after <= forgotten(db, space)[0]:
        return Feed(0, (), ())  # what the index knows is forgotten
    if after == 0:
        documents = _stored(db, space, (*SEARCHED, "hidden"))
    else:
        query = "SELECT memory FROM journal WHERE space = ? AND number > ?"  # DISTINCT would read them all
        changed = [row[0] for row in db.execute(query, (space, after))]
        documents = (row[0] for row in where_in(db, "document FROM memories", space, "id", changed))
    entries, places = entries_of(parsed(document) for document in documents)
    return Feed(number, entries, _blocks(db, space, places, model, everything=after == 0))


def past(db: sqlite3.Connection, space: str, at: datetime, model: str | None) -> Feed:
    """See Storage.past."""
    kept = (parsed(document) for document in _stored(db, space, (*SEARCHED, "superseded")))
    entries, places = entries_of(document for document in kept if was_valid(document, at))
    return Feed(head(db, space), entries, _blocks(db, space, places, model, everything=True))


def _stored(db: sqlite3.Connection, space: str, statuses: Sequence[Status]) -> Iterator[str]:
    """The documents of these statuses as they are."""
    marks = ", ".join("?" * len(statuses))
    rows = db.execute(
        f"SELECT document FROM memories WHERE space = ? AND status IN ({marks})", (space, *statuses)
    )
    return (row[0] for row in rows)


def _blocks(
    db: sqlite3.Connection,
    space: str,
    places: Mapping[str, tuple[str, int]],
    model: str | None,
    *,
    everything: bool,
) -> list[Block]:
    """The vectors of one model among those of `places`."""
    if model is None or not places:
        return []
    if everything:
        rows = db.execute("SELECT id, data FROM vectors WHERE space = ? AND model = ?", (space, model))
        return blocks_of(places, rows)
    found = where_in(db, "id, data, model FROM vectors", space, "id", places)
    return blocks_of(places, ((id, data) for id, data, named in found if named == model))
