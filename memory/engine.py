"""What all parts of the memory stand on: storage, embeddings, clock, indexes, and safe repetition."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from thoughtcycle.memory.embedder import Embedder
from thoughtcycle.memory.message_shelf import MessageShelf
from thoughtcycle.memory.reading import Reading
from thoughtcycle.memory.records import MemoryRecord, as_text
from thoughtcycle.memory.spaces import Spaces
from thoughtcycle.memory.storage.base import Conflict, Storage, Write
from thoughtcycle.prompts.errors import InputRefused, NotAllowed

_TRIES = 8

R = TypeVar("R")
Plan = Callable[[], Awaitable[tuple[Sequence[Write], R]]]
"""Reads what is stored and decides: the writes, and what to tell about them."""


class Engine:
    """Holds the open handles; its parts are `Transcript`, `Searching` and `Memory`."""

    def __init__(
        self, storage: Storage, *, embeddings: Embedder | None, clock: Callable[[], datetime]
    ) -> None:
        """`storage` is open and stays the caller's; without `embeddings` only words are searched."""
        self._storage = storage
        self._embeddings = embeddings
        self._clock = clock
        self._model = embeddings.name if embeddings is not None else None
        self._reading = Reading(storage)
        self._spaces = Spaces(storage, self._model)
        self._talks = MessageShelf(storage, embeddings, self._spaces)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def _change(self, user: str, plan: Plan[R]) -> tuple[dict[str, MemoryRecord], R]:
        """Plans and writes until nobody was in between: the documents as stored, and what the plan tells.

        Raises Conflict when another process was faster eight times in a row.
        """
        lock = self._locks.setdefault(user, asyncio.Lock())
        async with lock:
            for left in reversed(range(_TRIES)):
                writes, told = await plan()
                try:
                    stored = await self._storage.commit(user, writes)
                except Conflict:
                    if not left:
                        raise
                else:
                    self._reading.forget(user, [record.id for record in stored])
                    return {record.id: record for record in stored}, told
        raise AssertionError("unreachable")


def readable(content: Any) -> Any:
    """`content`, if all its text is Unicode; raises InputRefused('text_not_unicode') otherwise."""
    try:
        as_text(content).encode()
    except UnicodeEncodeError as error:
        raise InputRefused("text_not_unicode") from error
    return content


def owned(user: str) -> str:
    """`user`, if there is one; raises NotAllowed('user_missing') otherwise."""
    if not user:
        raise NotAllowed("user_missing")
    return user
