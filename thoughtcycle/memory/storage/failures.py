"""Translates the errors of database drivers and of the disk into StorageFailed."""

import errno
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from thoughtcycle.errors import (
    StorageCorrupt,
    StorageFailed,
    StorageFull,
    StorageLocked,
    StorageUnavailable,
    StorageUnusable,
)

Failure = Callable[..., StorageFailed]
"""Makes the error of a failure, given the `place`."""
_READONLY = partial(StorageUnusable, "storage_readonly")

_SQLITE: dict[int, Failure] = {
    sqlite3.SQLITE_BUSY: StorageLocked,
    sqlite3.SQLITE_LOCKED: StorageLocked,
    sqlite3.SQLITE_FULL: StorageFull,
    sqlite3.SQLITE_READONLY: _READONLY,
    sqlite3.SQLITE_PERM: _READONLY,
    sqlite3.SQLITE_CORRUPT: StorageCorrupt,
    sqlite3.SQLITE_NOTADB: StorageCorrupt,
    sqlite3.SQLITE_CANTOPEN: partial(StorageUnusable, "storage_unopenable"),
    sqlite3.SQLITE_IOERR: StorageUnavailable,
}

_SYSTEM: dict[int, Failure] = {
    errno.ENOSPC: StorageFull,
    errno.EDQUOT: StorageFull,
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _READONLY),
}

_MONGO: dict[int, Failure] = {
    13: _READONLY,  # Unauthorized: signed in, but this is not allowed
    18: StorageUnavailable,  # AuthenticationFailed
    8000: StorageUnavailable,  # AtlasError: a refused sign-in on Atlas
    14031: StorageFull,  # OutOfDiskSpace
    64: StorageUnavailable,  # WriteConcernFailed: too few members have the write
    100: StorageUnavailable,  # UnsatisfiableWriteConcern
}


def _failure(error: Exception) -> Failure | None:
    """The failure that `error` is; None when it is a mistake in our own use of the database.

    The low byte of SQLite's extended result code is the primary one (sqlite.org/rescode.html).
    """
    if isinstance(error, sqlite3.Error):
        return _SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    if isinstance(error, OSError):
        return _SYSTEM.get(error.errno or 0, StorageUnavailable)
    from pymongo import errors as mongo

    if isinstance(error, (mongo.ConnectionFailure, mongo.ConfigurationError)):
        return StorageUnavailable
    if isinstance(error, mongo.BulkWriteError):
        parts = (*error.details.get("writeErrors", ()), *error.details.get("writeConcernErrors", ()))
        return next((_MONGO[part["code"]] for part in parts if part["code"] in _MONGO), None)
    if isinstance(error, mongo.OperationFailure):
        return _MONGO.get(error.code or 0)
    return None


def _driver_errors() -> tuple[type[Exception], ...]:
    """MongoDB's only where its driver is loaded: importing it takes a fifth of a second."""
    mongo = sys.modules.get("pymongo.errors")
    return (sqlite3.Error, OSError) if mongo is None else (sqlite3.Error, OSError, mongo.PyMongoError)


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Raises StorageFailed, naming the database `place`, where a driver or the disk fails inside.

    `place` is shown to people: a path, or an address without its password.
    An error that only a bug can cause passes as it is.
    """
    try:
        yield
    except _driver_errors() as error:
        if (failure := _failure(error)) is None:
            raise
        raise failure(place=place) from error
