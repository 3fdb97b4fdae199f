"""The indexes of the spaces in use, caught up from the journal before each search."""

import asyncio
from dataclasses import replace
from datetime import datetime

from thoughtcycle.memory.index import SpaceIndex
from thoughtcycle.memory.shelf import BUDGET, Shelf
from thoughtcycle.memory.storage.base import Storage


class Spaces(Shelf[SpaceIndex]):
    """One index per space."""

    def __init__(self, storage: Storage, model: str | None, budget: int = BUDGET) -> None:
        """`model` names the embedding model whose vectors count; None: words only."""
        super().__init__(budget)
        self._storage, self._model = storage, model

    async def past(self, user: str, at: datetime) -> SpaceIndex:
        """An index of what was believed at `at`; former versions count as active, archived memories too."""
        feed = await self._storage.past(user, at, model=self._model)
        index = SpaceIndex()
        entries = [entry._replace(status="active") for entry in feed.entries]
        await asyncio.to_thread(index.apply, replace(feed, entries=entries))
        return index

    def _fresh(self) -> SpaceIndex:
        return SpaceIndex()

    async def _caught_up(self, user: str, index: SpaceIndex) -> SpaceIndex:
        feed = await self._storage.feed(user, index.number, model=self._model)
        if feed.number < index.number:  # another file is in this one's place
            index = SpaceIndex()
            feed = await self._storage.feed(user, 0, model=self._model)
        if feed.number != index.number:
            await asyncio.to_thread(index.apply, feed)
        return index
