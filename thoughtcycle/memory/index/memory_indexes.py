"""The indexes of the spaces in use, caught up from the journal before each search."""

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import datetime

from thoughtcycle.memory.index.cache import BUDGET, Shelf
from thoughtcycle.memory.index.memory_index import SpaceIndex
from thoughtcycle.memory.storage import Storage, StoredItem


class Spaces(Shelf[SpaceIndex]):
    """One index per space."""

    def __init__(self, storage: Storage, model: str | None, budget: int = BUDGET) -> None:
        """`model` names the embedding model whose vectors count; None: words only."""
        super().__init__(budget)
        self._storage, self._model = storage, model

    async def past(self, user: str, at: datetime) -> SpaceIndex:
        """An index of what was believed at `at`; former versions count as active, archived memories too."""
        feed = await self._storage.memories.past(user, at, model=self._model)
        index = SpaceIndex()
        entries = [entry._replace(status="active") for entry in feed.entries]
        await asyncio.to_thread(index.apply, replace(feed, entries=entries))
        return index

    async def items(self, user: str, index: SpaceIndex, ids: Sequence[str]) -> list[StoredItem]:
        """Those of these items that are there, in this order; `index`, the user's, keeps them at hand."""
        held = index.values.among(ids)
        if missing := [id for id in ids if id not in held]:
            read = await self._storage.memories.items(user, ids=missing)
            index.values.keep(read)
            self._weigh(user)
            held |= {item.id: item for item in read}
        return [held[id] for id in ids if id in held]

    def _pulse(self, user: str) -> Hashable:
        glimpse = self._storage.glimpse(user)
        return glimpse and glimpse.pulse

    def _fresh(self) -> SpaceIndex:
        return SpaceIndex()

    async def _caught_up(self, user: str, index: SpaceIndex) -> SpaceIndex:
        feed = await self._storage.memories.feed(user, index.number, model=self._model)
        if feed.number < index.number:  # another file is in this one's place
            index = SpaceIndex()
            feed = await self._storage.memories.feed(user, 0, model=self._model)
        if feed.number != index.number:
            await asyncio.to_thread(index.apply, feed)
        return index
