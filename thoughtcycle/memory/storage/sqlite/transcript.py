"""Cycles in SQLite."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from sqlite3 import Connection

from thoughtcycle.memory.model import Conversation, Cycle, MessageVector
from thoughtcycle.memory.storage.base.transcript import (
    Amended,
    Begun,
    BranchWalk,
    CycleFeed,
    Transcript,
    links_of,
    same_words,
)
from thoughtcycle.memory.storage.sqlite.chats import claimed, stored_chat
from thoughtcycle.memory.storage.sqlite.database import Repository, forgotten, reading, where_in, writing

_LAST = "SELECT max(number) FROM cycles WHERE user = ? AND number IS NOT NULL"


class SqliteTranscript(Transcript, Repository):
    @writing
    def add_cycle(self, db: Connection, cycle: Cycle) -> Cycle:
        self._database.check_epoch(db, cycle.user)
        return _add(db, cycle)

    @writing
    def append_cycle(self, db: Connection, cycle: Cycle) -> Cycle:
        self._database.check_epoch(db, cycle.user)
        if (known := _cycle(db, cycle.user, cycle.id)) is not None:
            return known
        chat = stored_chat(db, cycle.chat)
        added = _add(db, cycle.model_copy(update={"parent": chat.tip if chat else None}))
        _make_tip(db, added)
        return added

    @reading
    def cycle(self, db: Connection, user: str, id: str) -> Cycle | None:
        return _cycle(db, user, id)

    @writing
    def begin(
        self, db: Connection, user: str, chat: str, at: datetime, cycle: Callable[[Conversation], Cycle]
    ) -> Begun:
        self._database.begin_epoch(db, user, at)
        stored = claimed(db, chat, user, at)
        if stored.user != user:
            return Begun(stored, None, ())
        interrupted = _open(db, {"user = ?": user, "chat = ?": chat})
        return Begun(stored, _add(db, cycle(stored)), tuple(interrupted))

    @reading
    def path(self, db: Connection, user: str, chat: str, tip: str, *, limit: int) -> list[Cycle]:
        walk = BranchWalk(chat, tip, limit)
        while walk.next is not None:
            walk.add(_cycle(db, user, walk.next))
        return walk.closed

    @writing
    def amend_cycle(
        self,
        db: Connection,
        user: str,
        id: str,
        change: Callable[[Cycle], Cycle],
        *,
        tip: bool = False,
        anew: bool = False,
    ) -> Amended | None:
        if (known := _cycle(db, user, id)) is None:
            return None
        cycle = change(known)
        chat = stored_chat(db, cycle.chat)
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

    @reading
    def open_cycles(
        self,
        db: Connection,
        *,
        user: str | None = None,
        chat: str | None = None,
        before: datetime | None = None,
    ) -> list[Cycle]:
        heartbeat = before.timestamp() if before is not None else None
        return _open(db, {"user = ?": user, "chat = ?": chat, "heartbeat < ?": heartbeat})

    @reading
    def links(self, db: Connection, user: str, chats: Collection[str]) -> dict[str, str | None]:
        query = "SELECT id, parent, chat FROM cycles WHERE user = ? AND chat"
        return links_of(where_in(db, query, chats, user))

    @reading
    def cycle_feed(self, db: Connection, user: str, after: int, *, model: str | None) -> CycleFeed:
        """Numbers are taken and written in one transaction."""
        number = last(db, user)
        if 0 < after <= forgotten(db, user).cycles:
            return CycleFeed(0, (), {}, ())  # all that the index holds is forgotten
        query = "SELECT document FROM cycles WHERE user = ? AND number > ? ORDER BY number"
        cycles = tuple(Cycle.model_validate_json(row[0]) for row in db.execute(query, (user, after)))
        chats = dict.fromkeys(cycle.chat for cycle in cycles)
        tips = dict(where_in(db, "SELECT id, tip FROM conversations WHERE id", chats))
        query = "SELECT cycle, digest, model, data FROM message_vectors WHERE cycle"
        rows = where_in(db, query, [cycle.id for cycle in cycles] if model is not None else ())
        names = ("cycle", "digest", "model", "data")
        vectors = [MessageVector(**dict(zip(names, row, strict=True))) for row in rows if row[2] == model]
        return CycleFeed(number, cycles, tips, tuple(vectors))

    @writing
    def keep_message_vectors(self, db: Connection, user: str, vectors: Sequence[MessageVector]) -> None:
        db.executemany(
            "INSERT OR REPLACE INTO message_vectors (cycle, model, digest, data) "
            "SELECT id, ?, ?, ? FROM cycles WHERE id = ? AND user = ?",
            [(vector.model, vector.digest, vector.data, vector.cycle, user) for vector in vectors],
        )

    @reading
    def cycles(self, db: Connection, user: str, ids: Sequence[str]) -> list[Cycle]:
        rows = where_in(db, "SELECT id, document FROM cycles WHERE +user = ? AND id", ids, user)
        found = {id: Cycle.model_validate_json(text) for id, text in rows}
        return [found[id] for id in dict.fromkeys(ids) if id in found]

    @writing
    def drop_message_vectors(self, db: Connection, user: str, *, keep: str) -> None:
        mine = "SELECT id FROM cycles WHERE user = ?"
        db.execute(f"DELETE FROM message_vectors WHERE model != ? AND cycle IN ({mine})", (keep, user))


def _cycle(db: Connection, user: str, id: str) -> Cycle | None:
    row = db.execute("SELECT document FROM cycles WHERE id = ? AND user = ?", (id, user)).fetchone()
    return None if row is None else Cycle.model_validate_json(row[0])


def _open(db: Connection, conditions: Mapping[str, str | float | None]) -> list[Cycle]:
    """Open cycles that fit the conditions whose value is not None."""
    asked = {condition: value for condition, value in conditions.items() if value is not None}
    where = " AND ".join(("open = 1", *asked))
    rows = db.execute(f"SELECT document FROM cycles WHERE {where} ORDER BY heartbeat", list(asked.values()))
    return [Cycle.model_validate_json(row[0]) for row in rows]


def _add(db: Connection, cycle: Cycle) -> Cycle:
    if (known := _cycle(db, cycle.user, cycle.id)) is not None:
        return known
    db.execute(
        "INSERT INTO cycles (open, heartbeat, document, pending, number, id, user, chat, parent) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*_state(cycle), _number(db, cycle), cycle.id, cycle.user, cycle.chat, cycle.parent),
    )
    return cycle


def _make_tip(db: Connection, cycle: Cycle) -> None:
    db.execute(
        "UPDATE conversations SET tip = ?, updated = ? WHERE id = ? AND user = ?",
        (cycle.id, cycle.heartbeat.isoformat(), cycle.chat, cycle.user),
    )


def _state(cycle: Cycle) -> tuple[bool, float, str, float | None]:
    pending = cycle.opened_at.timestamp() if cycle.formation == "pending" else None
    return not cycle.closed, cycle.heartbeat.timestamp(), cycle.model_dump_json(), pending


def _number(db: Connection, cycle: Cycle) -> int | None:
    """The next number of the user's closed cycles; None while the cycle is open."""
    return last(db, cycle.user) + 1 if cycle.closed else None


def last(db: Connection, user: str) -> int:
    """The last number of the user's closed cycles; without any, that up to which all is forgotten."""
    return int(db.execute(_LAST, (user,)).fetchone()[0] or forgotten(db, user).cycles)
