"""The one place where a database driver's errors become errors that a person can read."""

import errno
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from thoughtcycle.prompts.errors import StorageFailed

if TYPE_CHECKING:
    from pymongo.errors import PyMongoError

_SQLITE_CODES = {
    sqlite3.SQLITE_BUSY: "storage_locked",
    sqlite3.SQLITE_LOCKED: "storage_locked",
    sqlite3.SQLITE_FULL: "storage_full",
    sqlite3.SQLITE_READONLY: "storage_readonly",
    sqlite3.SQLITE_PERM: "storage_readonly",
    sqlite3.SQLITE_CORRUPT: "storage_corrupt",
    sqlite3.SQLITE_NOTADB: "storage_corrupt",
    sqlite3.SQLITE_CANTOPEN: "storage_unopenable",
    sqlite3.SQLITE_IOERR: "storage_unavailable",
}

_OS_CODES = {
    errno.ENOSPC: "storage_full",
    errno.EDQUOT: "storage_full",
    errno.EACCES: "storage_readonly",
    errno.EPERM: "storage_readonly",
    errno.EROFS: "storage_readonly",
}

_MONGO_CODES = {
    13: "storage_readonly",  # Unauthorized: signed in, but this is not allowed
    18: "storage_unavailable",  # AuthenticationFailed
    8000: "storage_unavailable",  # AtlasError: a refused sign-in on Atlas
    14031: "storage_full",  # OutOfDiskSpace
    64: "storage_unavailable",  # WriteConcernFailed: too few members have the write
    100: "storage_unavailable",  # UnsatisfiableWriteConcern
}


def sqlite_code(error: sqlite3.Error) -> str | None:
    """The section of errors.md for `error`; None when it is a mistake in our own use of the database.

    The low byte of SQLite's extended result code is the primary one (sqlite.org/rescode.html).
    """
    number = getattr(error, "sqlite_errorcode", None)
    return None if number is None else _SQLITE_CODES.get(number & 0xFF)


def mongo_code(error: "PyMongoError") -> str | None:
    """The section of errors.md for `error`; None when it is a mistake in our own use of the database."""
    from pymongo import errors as mongo

    if isinstance(error, (mongo.ConnectionFailure, mongo.ConfigurationError)):
        return "storage_unavailable"
    if isinstance(error, mongo.BulkWriteError):
        parts = (*error.details.get("writeErrors", ()), *error.details.get("writeConcernErrors", ()))
        return next((_MONGO_CODES[part["code"]] for part in parts if part["code"] in _MONGO_CODES), None)
    if isinstance(error, mongo.OperationFailure):
        return _MONGO_CODES.get(error.code or 0)
    return None


def _mongo_errors() -> "tuple[type[PyMongoError], ...]":
    """What the driver raises; nothing where it was never imported, which takes a fifth of a second."""
    loaded = sys.modules.get("pymongo.errors")
    return () if loaded is None else (loaded.PyMongoError,)


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Raises StorageFailed, naming the database `place`, where a driver or the disk fails inside.

    `place` is shown to people: a path, or an address without its password.
    An error that only a bug can cause passes as it is.
    """
    try:
        yield
    except sqlite3.Error as error:
        if (code := sqlite_code(error)) is None:
            raise
        raise StorageFailed(code, place=place) from error
    except _mongo_errors() as error:
        if (code := mongo_code(error)) is None:
            raise
        raise StorageFailed(code, place=place) from error
    except OSError as error:
        code = _OS_CODES.get(error.errno or 0, "storage_unavailable")
        raise StorageFailed(code, place=place) from error
