"""How work on a MongoDB database is run: errors translated, writes to their end, none of a forgotten user."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from pymongo.errors import DocumentTooLarge

from thoughtcycle.memory.storage import mongo_epochs
from thoughtcycle.memory.storage.failures import translated
from thoughtcycle.memory.storage.forgetting import Epochs
from thoughtcycle.memory.storage.mongo_client import Database
from thoughtcycle.prompts.errors import InputRefused

T = TypeVar("T")


class ToTheEnd:
    """Takes an open database; belongs to one event loop.

    What is being written when a caller is cancelled is still written to the end.
    """

    def __init__(self, database: Database, place: str) -> None:
        """`place` names the database in messages."""
        self._db = database
        self._place = place
        self._epochs = Epochs()
        self._writing: set[asyncio.Task[Any]] = set()

    async def _late(self, user: str, work: Coroutine[Any, Any, T]) -> T:
        """A write that may belong to a time before the user was forgotten: then it is refused."""
        try:
            self._epochs.check(user, await mongo_epochs.epoch(self._db, user))
        except BaseException:
            work.close()
            raise
        return await work

    async def _write(self, work: Coroutine[Any, Any, T], turn: asyncio.Lock | None = None) -> T:
        """Runs to the end even when the caller is cancelled; `turn` spares writers of one loop a race."""
        task = asyncio.create_task(self._run(work if turn is None else _in_turn(turn, work)))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return await asyncio.shield(task)

    async def _run(self, work: Coroutine[Any, Any, T]) -> T:
        with translated(self._place):
            try:
                return await work
            except UnicodeEncodeError as error:
                raise InputRefused("text_not_unicode") from error
            except DocumentTooLarge as error:
                raise InputRefused("too_large") from error

    async def _written(self) -> None:
        """Waits for the writes of callers that were cancelled."""
        await asyncio.gather(*self._writing, return_exceptions=True)


async def _in_turn(turn: asyncio.Lock, work: Coroutine[Any, Any, T]) -> T:
    async with turn:
        return await work
