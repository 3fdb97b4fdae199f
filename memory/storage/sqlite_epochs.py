"""Writes to a SQLite file that are refused where their user was forgotten since."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar

from thoughtcycle.memory.storage import sqlite_forgetting
from thoughtcycle.memory.storage.forgetting import Epochs
from thoughtcycle.memory.storage.sqlite_thread import OneThread
from thoughtcycle.memory.storage.write_turn import Connection
from thoughtcycle.prompts.errors import NotAllowed

P = ParamSpec("P")
T = TypeVar("T")


class InEpoch(OneThread):
    """Knows the epochs in which it began to write for users."""

    def __init__(self, connection: Connection, executor: ThreadPoolExecutor, place: str) -> None:
        """As OneThread."""
        super().__init__(connection, executor, place)
        self._epochs = Epochs()

    async def _new(
        self,
        user: str,
        at: datetime,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """A write with which something of the user's begins; refused if the user was forgotten after `at`."""

        def begin(db: sqlite3.Connection) -> T:
            forgotten = sqlite_forgetting.forgotten(db, user)
            if forgotten is not None and at <= forgotten:
                raise NotAllowed("user_forgotten")
            self._epochs.begin(user, sqlite_forgetting.epoch(db, user))
            return work(db, *args, **kwargs)

        return await self._write(begin)

    async def _late(
        self,
        user: str,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """A write that may belong to a time before the user was forgotten: then it is refused."""

        def check(db: sqlite3.Connection) -> T:
            self._epochs.check(user, sqlite_forgetting.epoch(db, user))
            return work(db, *args, **kwargs)

        return await self._write(check)
