"""Memories, vectors and journal in SQLite."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from sqlite3 import Connection, IntegrityError
from typing import Any, TypeVar

from thoughtcycle.memory.model import Access, JournalEntry, MemoryRecord, Status, Vector
from thoughtcycle.memory.storage.base.memories import (
    Block,
    Conflict,
    ExistingRecords,
    Feed,
    Lookup,
    Memories,
    Names,
    StoredItem,
    Write,
)
from thoughtcycle.memory.storage.serialization import (
    SEARCHED,
    blocks_of,
    dumps,
    entries_of,
    identity_of,
    item_of,
    loads,
    parsed,
    was_valid,
)
from thoughtcycle.memory.storage.sqlite.database import (
    Repository,
    forgotten,
    marks,
    reading,
    where_in,
    writing,
)

R = TypeVar("R")
_COLUMNS = ("space", "revision", "status", "key", "identity", "cycle", "current", "document", "id")
_INSERT = f"INSERT INTO memories ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_STORED_COLUMNS = f"SELECT {', '.join(_COLUMNS[:-2])} FROM memories WHERE id = ?"
_VECTOR = "id, space, nosqlId, text, model, data"
_JOURNAL_FIELDS = ("space", "number", "at", "op", "memory", "cycle", "before", "undoes")
_JOURNAL = ", ".join(_JOURNAL_FIELDS)
_OF_STATUS = (
    "SELECT * FROM (SELECT revision, rowid AS place FROM memories "
    "WHERE space = ? AND status = ? AND revision > ? ORDER BY revision LIMIT ?)"
)
_TOUCH = """
INSERT INTO accesses (memory, space, count, last)
SELECT id, space, ?, ? FROM memories WHERE id = ? AND space = ? AND status != 'erased'
ON CONFLICT (memory) DO UPDATE SET count = {count}, last = max(last, excluded.last)
"""
_ACTIVE = "AND status = 'active'"


class SqliteMemories(Memories, Repository):
    async def commit(self, space: str, writes: Sequence[Write]) -> list[MemoryRecord]:
        return await self._commit(space, writes) if writes else []

    @writing
    def _commit(self, db: Connection, space: str, writes: Sequence[Write]) -> list[MemoryRecord]:
        self._database.check_epoch(db, space)
        return apply_writes(db, space, writes)

    @writing
    def save(
        self,
        db: Connection,
        space: str,
        lookup: Lookup,
        plan: Callable[[ExistingRecords], tuple[Sequence[Write], R]],
    ) -> tuple[list[MemoryRecord], R]:
        self._database.check_epoch(db, space)
        alike = _alike(db, space, lookup.identities, lookup.keys)
        existing = ExistingRecords([*alike, *documents(db, space, "id", lookup.ids)])
        if merged := existing.merged():
            existing = ExistingRecords([*existing.records, *documents(db, space, "id", merged)])
        existing = ExistingRecords(existing.records, _vectors_of(db, space, existing.holding(lookup.keys)))
        writes, result = plan(existing)
        return apply_writes(db, space, writes), result

    @reading
    def records(self, db: Connection, space: str, ids: Sequence[str]) -> list[MemoryRecord]:
        found = {record.id: record for record in documents(db, space, "id", ids)}
        return [found[id] for id in dict.fromkeys(ids) if id in found]

    @reading
    def same(
        self, db: Connection, space: str, *, identities: Collection[str], keys: Collection[str]
    ) -> list[MemoryRecord]:
        return _alike(db, space, identities, keys)

    @reading
    def versions(self, db: Connection, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        found = documents(db, space, "current", ids, "AND status != 'erased'")
        return sorted(found, key=lambda one: (one.valid_to or one.valid_from, one.revision), reverse=True)

    @reading
    def of_cycles(self, db: Connection, space: str, cycles: Collection[str]) -> list[MemoryRecord]:
        return documents(db, space, "cycle", cycles, "AND status IN ('active', 'archived', 'hidden')")

    @reading
    def listing(
        self,
        db: Connection,
        space: str,
        statuses: Collection[Status],
        *,
        key: str | None = None,
        after: int | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[MemoryRecord]:
        if after is not None:
            return _page(db, space, statuses, after, -1 if limit is None else limit)
        held, values = ("", ()) if key is None else ("AND key = ?", (key,))
        rows = db.execute(
            f"SELECT document FROM memories WHERE space = ? AND status IN ({marks(statuses)}) {held} "
            "ORDER BY revision DESC LIMIT ? OFFSET ?",
            (space, *statuses, *values, -1 if limit is None else limit, offset),
        )
        return [loads(row[0]) for row in rows]

    @reading
    def vectors(self, db: Connection, space: str, memories: Collection[str]) -> list[Vector]:
        return _vectors_of(db, space, memories)

    @reading
    def journal(
        self,
        db: Connection,
        space: str,
        *,
        memories: Names = None,
        before: int | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> list[JournalEntry]:
        below = "" if before is None else f"AND number < {int(before)}"
        above = "" if after is None else f"AND number > {int(after)}"
        way = "DESC" if after is None else "ASC"
        order = f"{below} {above} ORDER BY number {way} LIMIT {-1 if limit is None else int(limit)}"
        query = f"SELECT {_JOURNAL} FROM journal WHERE space = ?"
        if memories is None:
            return [_entry(row) for row in db.execute(f"{query} {order}", (space,))]
        found = [_entry(row) for row in where_in(db, f"{query} AND memory", memories, space, more=order)]
        return sorted(found, key=lambda entry: entry.number, reverse=after is None)[:limit]

    @reading
    def feed(self, db: Connection, space: str, after: int, *, model: str | None) -> Feed:
        """A write's document and row come in one transaction, so the numbers have no gap."""
        number = head(db, space)
        if number == after:
            return Feed(number, (), ())
        if 0 < after <= forgotten(db, space).journal:
            return Feed(0, (), ())  # all that the index holds is forgotten
        if after == 0:
            texts = _texts(db, space, "status", (*SEARCHED, "hidden"))
        else:
            query = "SELECT memory FROM journal WHERE space = ? AND number > ?"  # DISTINCT would read all
            changed = [row[0] for row in db.execute(query, (space, after))]
            texts = _texts(db, space, "id", changed)
        entries, places = entries_of(map(parsed, texts))
        return Feed(number, entries, _blocks(db, space, places, model, everything=after == 0))

    @reading
    def past(self, db: Connection, space: str, at: datetime, *, model: str | None) -> Feed:
        stored = map(parsed, _texts(db, space, "status", (*SEARCHED, "superseded")))
        entries, places = entries_of(document for document in stored if was_valid(document, at))
        return Feed(head(db, space), entries, _blocks(db, space, places, model, everything=True))

    @writing
    def touch(
        self, db: Connection, space: str, counts: Mapping[str, Access], *, at_least: bool = False
    ) -> None:
        rows = [
            (access.count, access.last.astimezone(UTC).isoformat(timespec="microseconds"), id, space)
            for id, access in counts.items()
        ]
        count = "max(count, excluded.count)" if at_least else "count + excluded.count"
        db.executemany(_TOUCH.format(count=count), rows)

    @reading
    def accesses(self, db: Connection, space: str, ids: Collection[str]) -> dict[str, Access]:
        rows = where_in(db, "SELECT memory, count, last FROM accesses WHERE space = ? AND memory", ids, space)
        return {id: Access(count=count, last=datetime.fromisoformat(last)) for id, count, last in rows}

    @reading
    def items(
        self, db: Connection, space: str, *, ids: Collection[str] = (), keys: Collection[str] = ()
    ) -> list[StoredItem]:
        found = [*_texts(db, space, "id", ids, _ACTIVE), *_texts(db, space, "key", keys, _ACTIVE)]
        return [item_of(parsed(text)) for text in found]


def _alike(
    db: Connection, space: str, identities: Collection[str], keys: Collection[str]
) -> list[MemoryRecord]:
    found = documents(db, space, "identity", identities, _ACTIVE)
    found += documents(db, space, "key", keys, _ACTIVE)
    return list({record.id: record for record in found}.values())


def _vectors_of(db: Connection, space: str, memories: Collection[str]) -> list[Vector]:
    rows = where_in(db, f"SELECT {_VECTOR} FROM vectors WHERE space = ? AND nosqlId", memories, space)
    names = ("id", "space", "memory", "text", "model", "data")
    return [Vector(**dict(zip(names, row, strict=True))) for row in rows]


def apply_writes(db: Connection, space: str, writes: Sequence[Write]) -> list[MemoryRecord]:
    """Makes the changes in the connection's transaction; see `Memories.commit`."""
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


def _put(db: Connection, space: str, record: MemoryRecord, before: MemoryRecord | None) -> None:
    if record.space != space:
        raise ValueError(f"memory {record.id!r} is of another space")
    fields = (record.revision, record.status, record.key, identity_of(record), record.source.cycle)
    row = (space, *fields, record.current, dumps(record), record.id)
    try:
        if before is None:  # of a new one the unique id tells
            db.execute(_INSERT, row)
        else:
            _update(db, row, before.revision)
    except IntegrityError as error:
        raise Conflict from error


def _update(db: Connection, row: Sequence[Any], revision: int) -> None:
    """Writes the columns that change: each one named would be put into its indexes anew."""
    stored = db.execute(_STORED_COLUMNS, row[-1:]).fetchone()
    if stored is None or stored[:2] != (row[0], revision):
        raise Conflict
    changed = [(name, now) for name, now, was in zip(_COLUMNS, row, stored, strict=False) if now != was]
    changed.append(("document", row[-2]))
    names = ", ".join(f"{name} = ?" for name, _ in changed)
    db.execute(f"UPDATE memories SET {names} WHERE id = ?", (*(now for _, now in changed), row[-1]))


def _put_vectors(
    db: Connection, space: str, record: MemoryRecord, vectors: Sequence[Vector], *, new: bool
) -> None:
    if tuple(vector.id for vector in vectors) != record.vector_ids:
        raise ValueError(f"the vectors of memory {record.id!r} are not those that it lists")
    if not new:
        db.execute("DELETE FROM vectors WHERE nosqlId = ? AND space = ?", (record.id, space))
    for vector in vectors:
        row = (vector.id, space, record.id, vector.text, vector.model, vector.data)
        db.execute(f"INSERT INTO vectors ({_VECTOR}) VALUES (?, ?, ?, ?, ?, ?)", row)


def head(db: Connection, space: str) -> int:
    """The last journal number of a space; where it has none, that up to which it was forgotten, else 0."""
    row = db.execute("SELECT max(number) FROM journal WHERE space = ?", (space,)).fetchone()
    return int(row[0] or forgotten(db, space).journal)


def documents(
    db: Connection, space: str, column: str, values: Collection[str], more: str = ""
) -> list[MemoryRecord]:
    """Documents of a space whose `column` is one of `values`; `more` is a further condition."""
    return [loads(text) for text in _texts(db, space, column, values, more)]


def _texts(db: Connection, space: str, column: str, values: Collection[str], more: str = "") -> Iterator[str]:
    # Without statistics SQLite takes a space to be small and would read all of it; the + forbids that.
    owned = "+space" if column == "id" else "space"
    query = f"SELECT document FROM memories WHERE {owned} = ? AND {column}"
    return (row[0] for row in where_in(db, query, values, space, more=more))


def _page(
    db: Connection, space: str, statuses: Collection[Status], after: int, limit: int
) -> list[MemoryRecord]:
    """Each status has its own order in the index; they are merged."""
    values = [value for status in statuses for value in (space, status, after, limit)]
    places = " UNION ALL ".join([_OF_STATUS] * len(statuses))
    query = (
        f"SELECT document FROM memories JOIN (SELECT * FROM ({places}) ORDER BY revision LIMIT ?) AS found "
        "ON memories.rowid = place ORDER BY found.revision"
    )
    return [loads(row[0]) for row in db.execute(query, (*values, limit))]


def _entry(row: Sequence[Any]) -> JournalEntry:
    fields = dict(zip(_JOURNAL_FIELDS, row, strict=True))
    at, before = datetime.fromisoformat(fields["at"]), fields["before"]
    return JournalEntry(**{**fields, "at": at, "before": None if before is None else loads(before)})


def _blocks(
    db: Connection, space: str, places: Mapping[str, tuple[str, int]], model: str | None, *, everything: bool
) -> list[Block]:
    """The vectors of one model among those of `places`."""
    if model is None or not places:
        return []
    if everything:
        rows = db.execute("SELECT id, data FROM vectors WHERE space = ? AND model = ?", (space, model))
        return blocks_of(places, rows)
    found = where_in(db, "SELECT id, data, model FROM vectors WHERE +space = ? AND id", places, space)
    return blocks_of(places, ((id, data) for id, data, named in found if named == model))
