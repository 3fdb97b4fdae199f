"""Users in SQLite."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from sqlite3 import Connection

from thoughtcycle.memory.storage.base.users import Census, Pulse, Users
from thoughtcycle.memory.storage.epochs import hashed
from thoughtcycle.memory.storage.sqlite.database import Repository, forgotten, reading, where_in, writing

_BYTES = (
    "SELECT sum(length(CAST(document AS BLOB))) FROM memories WHERE space = ?",
    "SELECT sum(length(CAST(text AS BLOB)) + length(data)) FROM vectors WHERE space = ?",
    "SELECT sum(length(CAST(before AS BLOB))) FROM journal WHERE space = ?",
    "SELECT sum(length(CAST(document AS BLOB))) FROM cycles WHERE user = ?",
    "SELECT sum(length(CAST(document AS BLOB))) FROM documents WHERE user = ?",
    "SELECT sum(length(CAST(entry.document AS BLOB))) FROM conversation_entries AS entry "
    "JOIN documents ON number = conversation WHERE user = ?",
    "SELECT sum(length(data)) FROM files WHERE user = ?",
    "SELECT sum(length(data)) FROM message_vectors JOIN cycles ON cycles.id = cycle WHERE user = ?",
)
_BY_SPACE: tuple[str, ...] = ("accesses", "vectors", "memories", "journal")
_BY_USER: tuple[str, ...] = (
    *("cycles", "conversations", "jobs", "documents", "settings", "tombstones", "erasure_keys", "files"),
    *("channel_links", "link_codes"),
)
OWNED = {table: column for column, tables in (("space", _BY_SPACE), ("user", _BY_USER)) for table in tables}
"""Table → column that names the user; children come first.

`message_vectors` go with cycles, `conversation_entries` with documents.
"""
_USERS = {"user", "space", "owner"}
_IDS = {"id", "chat", "parent", "tip", "cycle", "memory", "current", "nosqlId", "thread_id"}
_DOCUMENTS = {"document", "before"}


class SqliteUsers(Users, Repository):
    @reading
    def listing(self, db: Connection) -> list[str]:
        naming = OWNED.keys() - {"accesses", "jobs", "tombstones", "erasure_keys", "link_codes"}
        rows = db.execute(" UNION ".join(f"SELECT {OWNED[table]} FROM {table}" for table in naming))
        return sorted(row[0] for row in rows)

    @reading
    def census(self, db: Connection, user: str) -> Census:
        def count(query: str) -> int:
            return int(db.execute(query, (user,)).fetchone()[0] or 0)

        kind = "json_extract(document, '$.kind')"
        kinds = f"SELECT status, {kind}, count(*) FROM memories WHERE space = ? GROUP BY 1, 2"
        sheets = (
            "SELECT kind, count(*) FROM documents WHERE user = ?1 AND document IS NOT NULL GROUP BY kind "
            "UNION ALL SELECT 'settings', 1 FROM settings WHERE user = ?1"
        )
        pages = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
        return Census(
            memories={(status, kind): number for status, kind, number in db.execute(kinds, (user,))},
            chats=count("SELECT count(*) FROM conversations WHERE user = ?"),
            cycles=count("SELECT count(*) FROM cycles WHERE user = ?"),
            changes=count("SELECT count(*) FROM journal WHERE space = ?"),
            sheets=dict(db.execute(sheets, (user,)).fetchall()),
            pending=count("SELECT count(*) FROM cycles WHERE user = ? AND pending IS NOT NULL"),
            bytes=sum(map(count, _BYTES)),
            database_bytes=pages[0] * pages[1],
        )

    @reading
    def epoch(self, db: Connection, user: str) -> int:
        return forgotten(db, user).epoch

    @reading
    def forgotten(self, db: Connection, user: str) -> datetime | None:
        return forgotten(db, user).at

    @reading
    def pulse(self, db: Connection, user: str) -> Pulse:
        query = "SELECT number, at, memory FROM journal WHERE space = ? ORDER BY number DESC LIMIT 1"
        rows = db.execute(query, (user,))
        last = tuple((number, datetime.fromisoformat(at), memory) for number, at, memory in rows)
        return Pulse(last, forgotten(db, user).at)

    async def forget(self, user: str, at: datetime) -> Mapping[str, int]:
        counts = await self._delete(user, at)
        self._database.epochs.begin(user, await self.epoch(user))
        return counts

    @writing
    def _delete(self, db: Connection, user: str, at: datetime) -> Mapping[str, int]:
        ((journal,),) = db.execute("SELECT max(number) FROM journal WHERE space = ?", (user,))
        ((cycles,),) = db.execute("SELECT max(number) FROM cycles WHERE user = ?", (user,))
        mine = "SELECT id FROM cycles WHERE user = ?"
        deleted = db.execute(f"DELETE FROM message_vectors WHERE cycle IN ({mine})", (user,))
        counts = {"message_vectors": deleted.rowcount}
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table, column in OWNED.items():
            if table in there:
                counts[table] = db.execute(f"DELETE FROM {table} WHERE {column} = ?", (user,)).rowcount
        db.execute(
            "INSERT INTO forgotten (user, epoch, journal, cycles, at) VALUES (?, 1, ?, ?, ?) "
            "ON CONFLICT (user) DO UPDATE SET epoch = epoch + 1, at = excluded.at, "
            "journal = max(journal, excluded.journal), cycles = max(cycles, excluded.cycles)",
            (hashed(user), (journal or 0) + 1, (cycles or 0) + 1, at.isoformat()),
        )
        return {table: count for table, count in counts.items() if count}

    @reading
    def traces(self, db: Connection, user: str, ids: Collection[str]) -> Mapping[str, int]:
        wanted = frozenset(ids)
        quoted = {json.dumps(user), json.dumps(user, ensure_ascii=False)}
        names = [f'"{name}":{text}' for name in ("user", "space", "memoriesId") for text in quoted]

        def names_user(text: object) -> bool:
            return isinstance(text, str) and any(name in text for name in names)

        db.create_function("is_user", 1, lambda value: value == user)
        db.create_function("is_id", 1, lambda value: value in wanted)
        db.create_function("names_user", 1, names_user)
        found = {}
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        for (table,) in tables.fetchall():
            columns = {row[1] for row in db.execute(f'PRAGMA table_info("{table}")')}
            tests = [f'is_user("{column}")' for column in columns & _USERS]
            tests += [f'is_id("{column}")' for column in columns & _IDS] if wanted else []
            tests += [f'names_user("{column}")' for column in columns & _DOCUMENTS]
            if tests:
                query = f'SELECT count(*) FROM "{table}" WHERE {" OR ".join(tests)}'
                found[table] = int(db.execute(query).fetchone()[0])
        return {table: count for table, count in found.items() if count}

    @reading
    def strangers(
        self,
        db: Connection,
        user: str,
        *,
        chats: Sequence[str],
        cycles: Sequence[str],
        memories: Sequence[str],
    ) -> bool:
        places = (("conversations", chats), ("cycles", cycles), ("memories", memories))
        queries = ((f"SELECT 1 FROM {table} WHERE +{OWNED[table]} != ? AND id", ids) for table, ids in places)
        return any(any(where_in(db, query, ids, user, more="LIMIT 1")) for query, ids in queries)
