"""Backup and restore of a whole database file while it is in use."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from thoughtcycle.errors import InputRefused, StorageCorrupt
from thoughtcycle.memory.storage import (
    check_integrity,
    check_new,
    make_private,
    parse_url,
    part_file,
    remove_left_parts,
    translated,
    use_wal,
)

_BUSY_SECONDS = 30.0
_TABLES = ("memories", "conversations", "cycles", "checkpoints")


async def backup(url: str, file: Path, *, replace: bool = False) -> int:
    """Writes a snapshot of the database of `url` to `file`; returns its size in bytes.

    Writers go on meanwhile. `file` must be new unless `replace`, else InputRefused('file_exists'), and
    writable, else InputRefused('file_unwritable'). Raises InputRefused('backup_mongodb') for MongoDB, which
    has tools of its own, InputRefused('backup_missing') when there is no database yet, and StorageFailed.
    """
    return await asyncio.to_thread(_backup, _path(url), file, replace)


async def restore(url: str, file: Path, *, replace: bool) -> None:
    """Replaces the database of `url` by the backup `file`, atomically.

    The backup is checked first: StorageFailed says that it is damaged, of another program or of a newer
    version. A database that holds anything is only overwritten with `replace`, else
    InputRefused('restore_over'); one that is too damaged to be read is kept beside it as `.damaged`.
    Raises as `backup` too.
    """
    await asyncio.to_thread(_restore, _path(url), file, replace)


def _path(url: str) -> Path:
    database = parse_url(url)
    if database.path is None:
        raise InputRefused("backup_mongodb")
    return database.path


def _backup(path: Path, file: Path, replace: bool) -> int:
    remove_left_parts()
    check_new(file, replace=replace)
    if not path.exists():
        raise InputRefused("backup_missing", path=repr(str(path)))
    with (
        part_file(file, replace=replace) as part,
        translated(str(path)),
        closing(_open(path)) as source,
        translated(str(file)),
        closing(sqlite3.connect(part)) as copy,
    ):
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without companions
    return file.stat().st_size


def _restore(path: Path, file: Path, replace: bool) -> None:
    remove_left_parts()
    if not file.is_file():
        raise InputRefused("backup_missing", path=repr(str(file)))
    with translated(str(file)), closing(_open(file)) as source:
        check_integrity(source, str(file))
        with translated(str(path)):
            if not replace and _holds_anything(path):
                raise InputRefused("restore_over", path=repr(str(path)))
            _make_way(path)
            make_private(path)
            with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)) as target:
                target.execute("PRAGMA secure_delete = ON")
                use_wal(target)
                # SQLite makes it one transaction: other connections see the former content or the new.
                source.backup(target)
                target.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _open(path: Path) -> sqlite3.Connection:
    """For reading only; a database in use has companions that must be read along."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)


def _holds_anything(path: Path) -> bool:
    """Whether the file has any rows; an unreadable one counts as if it had."""
    if not path.exists():
        return False
    with closing(_open(path)) as target:
        try:
            tables = {row[0] for row in target.execute("SELECT name FROM sqlite_master")}
            rows = (f"SELECT EXISTS (SELECT 1 FROM {table})" for table in _TABLES if table in tables)
            return any(target.execute(query).fetchone()[0] for query in rows)
        except sqlite3.DatabaseError:
            return True


def _make_way(path: Path) -> None:
    """Renames a file that SQLite cannot read, with its companions; any other is overwritten in place."""
    if not path.exists():
        return
    try:
        with translated(str(path)), closing(_open(path)) as target:
            target.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except StorageCorrupt:
        for companion in ("", "-wal", "-shm"):
            damaged = path.with_name(path.name + companion)
            if damaged.exists():
                damaged.replace(path.with_name(f"{path.name}.damaged{companion}"))
