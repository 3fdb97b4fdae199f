"""The indexes of the spaces in use: caught up from the journal before each search, the oldest let go."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from thoughtcycle.memory.index import SpaceIndex
from thoughtcycle.memory.storage.base import Storage

MOST = 32
"""Spaces whose index is kept; any other is made anew from the documents."""


@dataclass
class _Slot:
    index: SpaceIndex = field(default_factory=SpaceIndex)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Spaces:
    """One index per space, for one event loop."""

    def __init__(self, storage: Storage, model: str | None, most: int = MOST) -> None:
        """`model` names the embedding model whose vectors count; None: words only."""
        self._storage, self._model, self._most = storage, model, most
        self._slots: OrderedDict[str, _Slot] = OrderedDict()

    @asynccontextmanager
    async def index(self, space: str) -> AsyncIterator[SpaceIndex]:
        """The space's index, up to date with every process's writes, for the caller alone.

        Whoever is interrupted leaves its index behind: a thread may still be working on it.
        """
        slot = self._slots.setdefault(space, _Slot())
        self._slots.move_to_end(space)
        async with slot.lock:
            try:
                await self._catch_up(space, slot)
                yield slot.index
            except BaseException:
                slot.index = SpaceIndex()
                raise
        while len(self._slots) > self._most:
            self._slots.popitem(last=False)

    def filled(self, space: str) -> bool:
        """Whether the space's index was seen to hold anything; says nothing of what was written since."""
        return space in self._slots and len(self._slots[space].index) > 0

    async def _catch_up(self, space: str, slot: _Slot) -> None:
        feed = await self._storage.feed(space, slot.index.number, model=self._model)
        if feed.number < slot.index.number:  # another file is in this one's place
            slot.index = SpaceIndex()
            feed = await self._storage.feed(space, 0, model=self._model)
        if feed.number != slot.index.number:
            await asyncio.to_thread(slot.index.apply, feed)
