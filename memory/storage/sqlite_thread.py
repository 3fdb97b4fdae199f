"""A SQLite connection on one thread of its own: writes one by one, reads of the same moment together."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from thoughtcycle.memory.storage.failures import translated
from thoughtcycle.memory.storage.private_file import make_private
from thoughtcycle.memory.storage.sqlite_schema import check_version, migrate
from thoughtcycle.memory.storage.wal import use_wal
from thoughtcycle.memory.storage.write_turn import Connection
from thoughtcycle.prompts.errors import InputRefused

BUSY_SECONDS = 5.0
"""How long a transaction waits for another process to finish its own."""

_CACHE_KB = 32_000
"""Pages that stay in memory: ids are random, so every save touches pages all over the file."""
_CHECKPOINT_PAGES = 4_000
"""Pages of 4 KB in the WAL before they are moved into the file: pages written again meanwhile move once."""

P = ParamSpec("P")
T = TypeVar("T")

Reading = tuple[Callable[[], Any], "asyncio.Future[Any]"]
"""What is to be read, and who waits for it."""


class OneThread:
    """Takes an open connection that belongs to the one thread of `executor`. For one event loop."""

    def __init__(self, connection: Connection, executor: ThreadPoolExecutor, place: str) -> None:
        """`place` names the database in messages."""
        self._connection = connection
        self._executor = executor
        self._place = place
        self._reads: list[Reading] = []

    async def _read(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Reads. What is asked for in the same moment takes one way to the thread, which costs the most."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._reads.append((partial(work, self._connection, *args, **kwargs), answer))
        if len(self._reads) == 1:
            loop.call_soon(self._gathered)
        return await answer

    def _gathered(self) -> None:
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
        """Hands over what was read; where that failed, each is read by itself, and fails for itself."""
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

    async def _write(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._run("IMMEDIATE", partial(work, self._connection, *args, **kwargs))

    async def _run(self, mode: str, work: Callable[[], T]) -> T:
        """One transaction on the storage's thread; it ends there even when the caller is cancelled."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._transaction, mode, work)

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


def connect(path: Path, busy_seconds: float) -> Connection:
    """An open connection with the tables in place."""
    with translated(str(path)):
        make_private(path)
        connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, factory=Connection)
        try:
            check_version(connection, str(path))
            use_wal(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            # What was erased must not stay readable in the file.
            connection.execute("PRAGMA secure_delete = ON")
            migrate(connection, str(path))
        except BaseException:
            connection.close()
            raise
        return connection
