"""The tables in SQLite: numbered migrations, which are only ever appended to."""

from collections.abc import Callable, Mapping, Sequence
from sqlite3 import Connection

from thoughtcycle.errors import StorageUnusable
from thoughtcycle.memory.storage.legacy_documents import divided, settings_of

MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE memories (
        id TEXT PRIMARY KEY, space TEXT NOT NULL, revision INTEGER NOT NULL, status TEXT NOT NULL,
        key TEXT, identity TEXT NOT NULL, cycle TEXT, current TEXT, document TEXT NOT NULL
    );
    CREATE UNIQUE INDEX memories_key ON memories (space, key) WHERE status = 'active' AND key IS NOT NULL;
    CREATE INDEX memories_identity ON memories (space, identity, status);
    CREATE INDEX memories_cycle ON memories (space, cycle, status);
    CREATE INDEX memories_current ON memories (space, current) WHERE current IS NOT NULL;
    CREATE INDEX memories_status ON memories (space, status, revision);

    CREATE TABLE vectors (
        id TEXT PRIMARY KEY, space TEXT NOT NULL,
        nosqlId TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        text TEXT NOT NULL, model TEXT NOT NULL, data BLOB NOT NULL
    );
    CREATE INDEX vectors_memory ON vectors (nosqlId, space);

    CREATE TABLE journal (
        space TEXT NOT NULL, number INTEGER NOT NULL, at TEXT NOT NULL, op TEXT NOT NULL,
        memory TEXT NOT NULL, cycle TEXT, before TEXT, undoes INTEGER,
        PRIMARY KEY (space, number)
    );
    CREATE INDEX journal_memory ON journal (space, memory, number);

    CREATE TABLE conversations (
        id TEXT PRIMARY KEY, user TEXT NOT NULL, tip TEXT, created TEXT NOT NULL,
        updated TEXT NOT NULL
    );
    CREATE INDEX conversations_user ON conversations (user, updated);

    CREATE TABLE cycles (
        id TEXT PRIMARY KEY, user TEXT NOT NULL,
        chat TEXT NOT NULL REFERENCES conversations (id),
        parent TEXT, open INTEGER NOT NULL, heartbeat REAL NOT NULL, document TEXT NOT NULL
    );
    CREATE INDEX cycles_chat ON cycles (chat, user, id, parent);
    CREATE INDEX cycles_open ON cycles (chat, user, open);
    CREATE INDEX cycles_heartbeat ON cycles (heartbeat) WHERE open = 1;
    """,
    """
    ALTER TABLE cycles ADD COLUMN number INTEGER;
    UPDATE cycles SET number = rowid WHERE open = 0;
    CREATE INDEX cycles_number ON cycles (user, number) WHERE number IS NOT NULL;

    CREATE TABLE message_vectors (
        cycle TEXT NOT NULL REFERENCES cycles (id) ON DELETE CASCADE,
        model TEXT NOT NULL, digest TEXT NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (cycle, model, digest)
    );
    """,
    """
    ALTER TABLE conversations ADD COLUMN title TEXT;

    CREATE TABLE forgotten (
        user TEXT PRIMARY KEY, epoch INTEGER NOT NULL, journal INTEGER NOT NULL,
        cycles INTEGER NOT NULL
    );
    """,
    """
    CREATE TABLE accesses (
        memory TEXT PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
        space TEXT NOT NULL, count INTEGER NOT NULL, last TEXT NOT NULL
    );
    CREATE INDEX accesses_space ON accesses (space);
    """,
    """
    CREATE INDEX vectors_space ON vectors (space, model);
    """,
    """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY, user TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
        due REAL NOT NULL, free REAL, revision INTEGER NOT NULL, document TEXT NOT NULL
    );
    CREATE INDEX jobs_free ON jobs (free) WHERE free IS NOT NULL;
    CREATE INDEX jobs_user ON jobs (user, state);
    """,
    """
    CREATE INDEX memories_hidden ON memories (status) WHERE status = 'hidden';
    CREATE TABLE tombstones (
        user TEXT NOT NULL, memory TEXT NOT NULL, document TEXT NOT NULL,
        PRIMARY KEY (user, memory)
    );
    CREATE TABLE erasure_keys (
        user TEXT PRIMARY KEY, secret BLOB NOT NULL
    );
    """,
    """
    ALTER TABLE forgotten ADD COLUMN at TEXT;
    """,
    """
    CREATE TABLE sheets (
        user TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL,
        updated TEXT NOT NULL, document TEXT,
        PRIMARY KEY (user, kind, id)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX sheets_chat ON sheets (id) WHERE kind = 'conversation';
    CREATE INDEX sheets_updated ON sheets (user, kind, updated);

    ALTER TABLE cycles ADD COLUMN pending REAL;
    UPDATE cycles SET pending = (julianday(json_extract(document, '$.opened_at')) - 2440587.5) * 86400.0
        WHERE json_extract(document, '$.formation') = 'pending';
    CREATE INDEX cycles_pending ON cycles (pending, number, user) WHERE pending IS NOT NULL;
    CREATE INDEX cycles_pending_user ON cycles (user, pending, number) WHERE pending IS NOT NULL;
    """,
    """
    CREATE TABLE files (
        user TEXT NOT NULL, hash TEXT NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (user, hash)
    );
    """,
    """
    CREATE TABLE channel_links (
        channel TEXT NOT NULL, sender TEXT NOT NULL, user TEXT NOT NULL, at TEXT NOT NULL,
        PRIMARY KEY (channel, sender)
    );
    CREATE INDEX channel_links_user ON channel_links (user);
    CREATE TABLE link_codes (
        digest TEXT PRIMARY KEY, user TEXT NOT NULL, until REAL NOT NULL
    );
    CREATE TABLE link_tries (
        identity TEXT PRIMARY KEY, count INTEGER NOT NULL, until REAL NOT NULL
    );
    """,
    """
    CREATE TABLE sheet_annexes (
        user TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, annex TEXT NOT NULL,
        PRIMARY KEY (user, kind, id),
        FOREIGN KEY (user, kind, id) REFERENCES sheets (user, kind, id) ON DELETE CASCADE
    );
    """,
    """
    CREATE TABLE documents (
        number INTEGER PRIMARY KEY, user TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
        revision INTEGER NOT NULL, updated TEXT NOT NULL, document TEXT,
        UNIQUE (user, kind, id)
    );
    CREATE UNIQUE INDEX documents_chat ON documents (id) WHERE kind = 'conversation';
    CREATE INDEX documents_updated ON documents (user, kind, updated);
    CREATE TABLE conversation_entries (
        conversation INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
        part TEXT NOT NULL, place INTEGER NOT NULL, document TEXT NOT NULL,
        PRIMARY KEY (conversation, part, place)
    ) WITHOUT ROWID;
    CREATE TABLE settings (
        user TEXT PRIMARY KEY, revision INTEGER NOT NULL DEFAULT 0, smart_context INTEGER,
        paused INTEGER NOT NULL DEFAULT 0, language TEXT, time_zone TEXT
    );
    """,
    "CREATE TABLE learned (name TEXT PRIMARY KEY, until REAL NOT NULL)",
)


def _divide_sheets(connection: Connection) -> None:
    """Splits each sheet, with or without its annex, into a document and entries."""
    query = "SELECT * FROM sheets LEFT JOIN sheet_annexes USING (user, kind, id)"
    for user, kind, id, revision, updated, document, annex in connection.execute(query):
        if kind == "settings":
            if document is not None:
                fields = {"user": user, "revision": revision, **settings_of(document)}
                marks = ", ".join("?" * len(fields))
                insert = f"INSERT INTO settings ({', '.join(fields)}) VALUES ({marks})"
                connection.execute(insert, tuple(fields.values()))
            continue
        text, entries = divided(document, annex) if kind == "conversation" else (document, {})
        number = connection.execute(
            "INSERT INTO documents (user, kind, id, revision, updated, document) VALUES (?, ?, ?, ?, ?, ?)",
            (user, kind, id, revision, updated, text),
        ).lastrowid
        connection.executemany(
            "INSERT INTO conversation_entries (conversation, part, place, document) VALUES (?, ?, ?, ?)",
            [(number, part, *row) for part, rows in entries.items() for row in enumerate(rows)],
        )
    connection.execute("DROP TABLE sheet_annexes")
    connection.execute("DROP TABLE sheets")


CONVERSIONS: Mapping[int, Callable[[Connection], None]] = {13: _divide_sheets}
"""Migration → its work beyond statements; done after those."""


CHECKPOINT_TABLES = {"checkpoints", "writes"}
"""Tables that the checkpointer, which shares the file, may have made before us."""


def migrate(connection: Connection, place: str) -> None:
    """Brings the tables up to date, in one transaction, whoever comes first.

    Raises StorageUnusable('schema_newer') when a newer program wrote the file, and 'storage_foreign' when
    another one did.
    """
    if check_version(connection, place) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("CREATE TABLE IF NOT EXISTS schema_versions (number INTEGER PRIMARY KEY)")
        for number in range(check_version(connection, place) + 1, len(MIGRATIONS) + 1):
            for statement in filter(str.strip, MIGRATIONS[number - 1].split(";")):
                connection.execute(statement)
            if number in CONVERSIONS:
                CONVERSIONS[number](connection)
            connection.execute("INSERT INTO schema_versions VALUES (?)", (number,))
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def check_version(connection: Connection, place: str) -> int:
    """The schema number of the file, 0 for a new one; writes nothing. Raises as `migrate` does."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
    tables = {name for (name,) in connection.execute(query)}
    if "schema_versions" not in tables:
        if foreign := tables - CHECKPOINT_TABLES:
            raise StorageUnusable("storage_foreign", place=place, table=min(foreign))
        return 0
    found = int(connection.execute("SELECT coalesce(max(number), 0) FROM schema_versions").fetchone()[0])
    if found > len(MIGRATIONS):
        raise StorageUnusable("schema_newer", place=place, found=found, known=len(MIGRATIONS))
    return found
