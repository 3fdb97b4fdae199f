"""A SQLite connection on a thread of its own, the repositories' methods on it, and queries they share."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from datetime import datetime
from functools import partial, wraps
from pathlib import Path
from types import CoroutineType, MethodType
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.storage.epochs import Epochs, Forgotten, hashed
from thoughtcycle.memory.storage.failures import translated
from thoughtcycle.memory.storage.sqlite.schema import check_version, migrate
from thoughtcycle.memory.storage.sqlite.watch import Watch
from thoughtcycle.memory.storage.sqlite_file import SqliteConnection, make_private, use_wal

BUSY_SECONDS = 5.0
"""How long a transaction waits for another process to finish its own."""

_CHUNK = 500
"""Values of one IN list."""
_SETTINGS = {
    "synchronous": "NORMAL",
    "foreign_keys": "ON",
    "cache_size": -32_000,  # KB: ids are random, so every save touches pages all over the file
    "wal_autocheckpoint": 4_000,  # pages of 4 KB: one that is written again meanwhile moves once
    "secure_delete": "ON",  # erased text must not stay readable in the file
}

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound="Repository")
Method: TypeAlias = "Callable[Concatenate[R, P], CoroutineType[Any, Any, T]]"
"""A method of R made by `async def`."""
Reading = tuple[Callable[[], Any], "asyncio.Future[Any]"]
"""A read, and the future of its caller."""


class SqliteDatabase:
    """An open connection that belongs to the one thread of `executor`; for one event loop."""

    def __init__(
        self, connection: SqliteConnection, watch: Watch, executor: ThreadPoolExecutor, place: str
    ) -> None:
        """`place` names the database in messages."""
        self._connection = connection
        self._executor = executor
        self._place = place
        self._reads: list[Reading] = []
        self.watch = watch
        """Belongs to the event loop's thread."""
        self.epochs = Epochs()
        """The epochs in which this process began to write for users."""

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, busy_seconds: float) -> AsyncIterator["SqliteDatabase"]:
        """Opens the file, creates what is missing, and closes it on leaving."""
        executor = ThreadPoolExecutor(1, thread_name_prefix="thoughtcycle-sqlite")
        loop = asyncio.get_running_loop()
        try:
            connection = await loop.run_in_executor(executor, connect, path, busy_seconds)
            try:
                watch = await loop.run_in_executor(executor, Watch, path)
                try:
                    yield cls(connection, watch, executor, str(path))
                finally:
                    await asyncio.shield(loop.run_in_executor(executor, watch.close))
            finally:
                await asyncio.shield(loop.run_in_executor(executor, connection.close))
        finally:
            executor.shutdown(wait=False)

    async def read(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Reads. Reads of the same moment go to the thread together: the way there costs the most."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._reads.append((partial(work, self._connection, *args, **kwargs), answer))
        if len(self._reads) == 1:
            loop.call_soon(self._send_gathered)
        return await answer

    def _send_gathered(self) -> None:
        reads, self._reads = self._reads, []
        self._send(reads)

    def _send(self, reads: Sequence[Reading]) -> None:
        """Reads in one transaction."""

        def work() -> list[Any]:
            return [read() for read, _ in reads]

        try:
            done = asyncio.get_running_loop().run_in_executor(
                self._executor, self._transaction, "DEFERRED", work
            )
        except RuntimeError as closed:  # there is no thread any more
            for _, answer in reads:
                answer.set_exception(closed)
            return
        done.add_done_callback(partial(self._answer, reads))

    def _answer(self, reads: Sequence[Reading], done: "asyncio.Future[list[Any]]") -> None:
        """Hands over the results; after a failure each is read by itself, and fails for itself."""
        if done.cancelled():
            for _, answer in reads:
                answer.cancel()
        elif (error := done.exception()) is not None and len(reads) > 1:
            for one in reads:
                self._send([one])
        else:
            found = done.result() if error is None else ()
            for place, (_, answer) in enumerate(reads):
                if answer.done():  # whoever asked was cancelled
                    continue
                if error is not None:
                    answer.set_exception(error)
                else:
                    answer.set_result(found[place])

    async def write(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Writes in one transaction; it ends on its thread even when the caller is cancelled."""
        loop, done = asyncio.get_running_loop(), partial(work, self._connection, *args, **kwargs)
        return await loop.run_in_executor(self._executor, self._transaction, "IMMEDIATE", done)

    async def outside(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Does `work` outside a transaction."""

        def translating() -> T:
            with translated(self._place):
                return work(self._connection)

        return await asyncio.get_running_loop().run_in_executor(self._executor, translating)

    def begin_epoch(self, db: sqlite3.Connection, user: str, at: datetime) -> None:
        """Begins to write for the user; NotAllowed('user_forgotten') if forgotten at `at` or later."""
        self.epochs.begin(user, forgotten(db, user).epoch_after(at))

    def check_epoch(self, db: sqlite3.Connection, user: str) -> None:
        """NotAllowed('user_forgotten') where a write may have begun before the user was forgotten."""
        self.epochs.check(user, forgotten(db, user).epoch)

    def _transaction(self, mode: str, work: Callable[[], T]) -> T:
        with translated(self._place), self._connection.turn() if mode == "IMMEDIATE" else nullcontext():
            try:
                self._connection.execute(f"BEGIN {mode}")
                result = work()
                self._connection.execute("COMMIT")
            except UnicodeEncodeError as error:
                raise InputRefused("text_not_unicode") from error
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            return result


class Repository:
    """A part of the storage whose methods are transactions: see `reading` and `writing`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database


def reading(work: Callable[Concatenate[R, sqlite3.Connection, P], T]) -> "Method[R, P, T]":
    """Makes a method of a function of the connection, which only reads; it runs on the database's thread."""

    @wraps(work)
    async def method(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(MethodType(work, self), *args, **kwargs)

    return cast("Method[R, P, T]", method)


def writing(work: Callable[Concatenate[R, sqlite3.Connection, P], T]) -> "Method[R, P, T]":
    """As `reading`, of a function that writes: all that it does is one transaction."""

    @wraps(work)
    async def method(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(MethodType(work, self), *args, **kwargs)

    return cast("Method[R, P, T]", method)


def connect(path: Path, busy_seconds: float) -> SqliteConnection:
    """An open connection with the tables in place."""
    with translated(str(path)):
        make_private(path)
        connection = SqliteConnection(path, timeout=busy_seconds, isolation_level=None)
        try:
            check_version(connection, str(path))
            use_wal(connection)
            for setting, value in _SETTINGS.items():
                connection.execute(f"PRAGMA {setting} = {value}")
            migrate(connection, str(path))
        except BaseException:
            connection.close()
            raise
        return connection


def where_in(
    db: sqlite3.Connection, query: str, values: Collection[str], *given: str, more: str = ""
) -> Iterator[Any]:
    """Rows for which the column that ends `query` is one of `values`; SQLite takes only so many at once.

    `given` fill the placeholders before it; `more` follows it.
    """
    wanted = list(dict.fromkeys(values))
    for start in range(0, len(wanted), _CHUNK):
        some = wanted[start : start + _CHUNK]
        yield from db.execute(f"{query} IN ({marks(some)}) {more}", (*given, *some))


def marks(values: Collection[str]) -> str:
    """A placeholder for each of `values`."""
    return ", ".join("?" * len(values))


def forgotten(db: sqlite3.Connection, user: str) -> Forgotten:
    """The trace of the user, if they were forgotten."""
    query = "SELECT epoch, journal, cycles, at FROM forgotten WHERE user = ?"
    if (row := db.execute(query, (hashed(user),)).fetchone()) is None:
        return Forgotten()
    epoch, journal, cycles, at = row
    return Forgotten(epoch, journal, cycles, datetime.fromisoformat(at) if at else None)
