"""The indexes of the spaces in use, caught up from the journal before each search."""

import asyncio

from thoughtcycle.memory.index import SpaceIndex
from thoughtcycle.memory.shelf import MOST, Shelf
from thoughtcycle.memory.storage.base import Storage


class Spaces(Shelf[SpaceIndex]):
    """One index per space."""

    def __init__(self, storage: Storage, model: str | None, most: int = MOST) -> None:
        """`model` names the embedding model whose vectors count; None: words only."""
        super().__init__(most)
        self._storage, self._model = storage, model

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
