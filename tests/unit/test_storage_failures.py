"""Every driver error that a user can meet becomes one clear line; a bug stays a bug."""

import errno
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread

import pytest
from pymongo import errors as mongo

from thoughtcycle.errors import StorageFailed
from thoughtcycle.memory.storage import translated, use_wal


def sqlite_error(number: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = number
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (sqlite_error(sqlite3.SQLITE_BUSY), "storage_locked"),
        (sqlite_error(sqlite3.SQLITE_BUSY_SNAPSHOT), "storage_locked"),
        (sqlite_error(sqlite3.SQLITE_LOCKED), "storage_locked"),
        (sqlite_error(sqlite3.SQLITE_FULL), "storage_full"),
        (sqlite_error(sqlite3.SQLITE_READONLY_DIRECTORY), "storage_readonly"),
        (sqlite_error(sqlite3.SQLITE_CORRUPT_INDEX), "storage_corrupt"),
        (sqlite_error(sqlite3.SQLITE_NOTADB), "storage_corrupt"),
        (sqlite_error(sqlite3.SQLITE_CANTOPEN_ISDIR), "storage_unopenable"),
        (sqlite_error(sqlite3.SQLITE_IOERR_WRITE), "storage_unavailable"),
        (mongo.ServerSelectionTimeoutError("nobody"), "storage_unavailable"),
        (mongo.AutoReconnect("gone"), "storage_unavailable"),
        (mongo.InvalidURI("odd"), "storage_unavailable"),
        (mongo.OperationFailure("who", 18), "storage_unavailable"),
        (mongo.OperationFailure("may not", 13), "storage_readonly"),
        (mongo.OperationFailure("full", 14031), "storage_full"),
        (OSError(errno.ENOSPC, "full"), "storage_full"),
        (PermissionError(errno.EACCES, "no"), "storage_readonly"),
        (NotADirectoryError(errno.ENOTDIR, "no"), "storage_unavailable"),
    ],
)
def test_a_failure_is_told(error: Exception, code: str) -> None:
    with pytest.raises(StorageFailed) as failure, translated("here.db"):
        raise error
    assert failure.value.code == code
    assert failure.value.__cause__ is error
    assert all("here.db" in failure.value.text(language) for language in ("pt", "en"))


@pytest.mark.parametrize(
    "error",
    [
        sqlite_error(sqlite3.SQLITE_CONSTRAINT_UNIQUE),
        sqlite3.ProgrammingError("no code"),
        mongo.DuplicateKeyError("twice"),
        ValueError("ours"),
    ],
)
def test_a_bug_passes_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as failure, translated("here.db"):
        raise error
    assert failure.value is error


def test_many_may_create_one_file_in_wal_mode_at_the_same_moment(tmp_path: Path) -> None:
    """Without `use_wal`'s second look about one opening in 150 is refused."""
    failures: list[sqlite3.Error] = []

    def create(path: Path, together: Barrier) -> None:
        together.wait()
        with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
            try:
                use_wal(connection)
                connection.execute("CREATE TABLE IF NOT EXISTS here (id)")
            except sqlite3.Error as error:
                failures.append(error)

    for number in range(100):
        together = Barrier(6)
        threads = [Thread(target=create, args=(tmp_path / f"{number}.db", together)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    with closing(sqlite3.connect(tmp_path / "0.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
