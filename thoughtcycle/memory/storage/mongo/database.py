"""An open MongoDB database: translates errors, ends every write, refuses those of an ended epoch."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from functools import wraps
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast
from weakref import WeakValueDictionary

from pymongo.errors import DocumentTooLarge

from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.storage.epochs import Epochs
from thoughtcycle.memory.storage.failures import translated
from thoughtcycle.memory.storage.mongo.client import Database, connect, database_of
from thoughtcycle.memory.storage.mongo.ledger import forgotten
from thoughtcycle.memory.storage.mongo.schema import migrate

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound="Repository")
Method: TypeAlias = "Callable[Concatenate[R, P], CoroutineType[Any, Any, T]]"
"""A method of R made by `async def`."""


class MongoDatabase:
    """An open database; belongs to one event loop."""

    def __init__(self, db: Database, place: str) -> None:
        """`place` names the database in messages."""
        self.db = db
        self.place = place
        self.epochs = Epochs()
        """The epochs in which this process began to write for users."""
        self._writing: set[asyncio.Task[Any]] = set()
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, place: str) -> AsyncIterator["MongoDatabase"]:
        """Opens the database that `url` names, creates what is missing, and closes it on leaving."""
        with translated(place):
            client = connect(url)
        try:
            database = cls(database_of(client), place)
            with translated(place):
                await migrate(database.db, place)
            yield database
            await asyncio.gather(*database._writing, return_exceptions=True)
        finally:
            await asyncio.shield(client.close())

    async def read(self, work: Coroutine[Any, Any, T]) -> T:
        """Does `work`, with the driver's errors translated."""
        with translated(self.place):
            try:
                return await work
            except UnicodeEncodeError as error:
                raise InputRefused("text_not_unicode") from error
            except DocumentTooLarge as error:
                raise InputRefused("too_large") from error

    async def write(self, work: Coroutine[Any, Any, T]) -> T:
        """As `read`; runs to the end even when the caller is cancelled."""
        task = asyncio.create_task(self.read(work))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return await asyncio.shield(task)

    def turn(self, collection: str, owner: str) -> asyncio.Lock:
        """A lock that spares writers of this process, who commit to the same ledger, a race."""
        return self._turns.setdefault((collection, owner), asyncio.Lock())

    async def begin_epoch(self, user: str, at: datetime) -> None:
        """Begins to write for the user; NotAllowed('user_forgotten') if forgotten at `at` or later."""
        self.epochs.begin(user, (await forgotten(self.db, user)).epoch_after(at))

    async def check_epoch(self, user: str) -> int:
        """The epoch; NotAllowed('user_forgotten') if a write may have begun before the user was forgotten."""
        epoch = (await forgotten(self.db, user)).epoch
        self.epochs.check(user, epoch)
        return epoch

    @asynccontextmanager
    async def same_epoch(
        self, user: str, revert: Callable[[], Coroutine[Any, Any, object]]
    ) -> AsyncIterator[None]:
        """As `check_epoch`, around a write; `revert` takes it back where the user was forgotten meanwhile."""
        epoch = await self.check_epoch(user)
        yield
        if (await forgotten(self.db, user)).epoch != epoch:
            await revert()
            raise NotAllowed("user_forgotten")


class Repository:
    """A part of the storage; its methods are made of functions by `reading` and `writing`."""

    def __init__(self, database: MongoDatabase) -> None:
        self._database = database


def reading(work: Callable[Concatenate[R, Database, P], Coroutine[Any, Any, T]]) -> "Method[R, P, T]":
    """Makes a method of a function of the database, which only reads."""

    @wraps(work)
    async def method(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(work(self, self._database.db, *args, **kwargs))

    return cast("Method[R, P, T]", method)


def writing(work: Callable[Concatenate[R, Database, P], Coroutine[Any, Any, T]]) -> "Method[R, P, T]":
    """As `reading`, of a function that writes: what was begun is brought to its end."""

    @wraps(work)
    async def method(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(work(self, self._database.db, *args, **kwargs))

    return cast("Method[R, P, T]", method)
