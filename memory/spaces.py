"""The indexes of the spaces in use, caught up from the journal before each search."""

import asyncio
import logging
from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import datetime

from thoughtcycle.memory.index import SpaceIndex
from thoughtcycle.memory.shelf import BUDGET, Shelf
from thoughtcycle.memory.snapshots import Snapshots, mark
from thoughtcycle.memory.storage.base import Feed, Storage
from thoughtcycle.memory.storage.item_port import StoredItem
from thoughtcycle.prompts.errors import StorageFailed

log = logging.getLogger(__name__)

WORTH = 5_000
"""Changes after which a snapshot is written anew: fewer are caught up with in a moment."""


class Spaces(Shelf[SpaceIndex]):
    """One index per space."""

    def __init__(
        self,
        storage: Storage,
        model: str | None,
        budget: int = BUDGET,
        snapshots: Snapshots | None = None,
        worth: int | None = None,
    ) -> None:
        """`model` names the embedding model whose vectors count; None: words only."""
        super().__init__(budget)
        self._storage, self._model = storage, model
        self._snapshots, self._worth = snapshots, WORTH if worth is None else worth
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def past(self, user: str, at: datetime) -> SpaceIndex:
        """An index of what was believed at `at`; former versions count as active, archived memories too."""
        feed = await self._storage.past(user, at, model=self._model)
        index = SpaceIndex()
        entries = [entry._replace(status="active") for entry in feed.entries]
        await asyncio.to_thread(index.apply, replace(feed, entries=entries))
        return index

    async def items(self, user: str, index: SpaceIndex, ids: Sequence[str]) -> list[StoredItem]:
        """Those of these items that are there, in this order; `index`, the user's, keeps them at hand."""
        held = index.values.among(ids)
        if missing := [id for id in ids if id not in held]:
            read = await self._storage.items(user, ids=missing)
            index.values.keep(read)
            self._weigh(user)
            held |= {item.id: item for item in read}
        return [held[id] for id in ids if id in held]

    async def drop_snapshot(self, user: str) -> None:
        """Removes the user's snapshot from the disk; a later one is made from what is stored then."""
        if self._snapshots is not None:
            await asyncio.to_thread(self._snapshots.drop, user)

    async def close(self) -> None:
        """Waits for the snapshots that are being written."""
        await asyncio.gather(*self._tasks.values())

    def _pulse(self, user: str) -> Hashable:
        glimpse = self._storage.glimpse(user)
        return glimpse and glimpse.pulse

    def _fresh(self) -> SpaceIndex:
        return SpaceIndex()

    async def _caught_up(self, user: str, index: SpaceIndex) -> SpaceIndex:
        if index.number == 0 and self._snapshots is not None:
            index = await self._head_start(user, self._snapshots) or index
        feed = await self._storage.feed(user, index.number, model=self._model)
        if feed.number < index.number:  # another file is in this one's place
            index = SpaceIndex()
            feed = await self._storage.feed(user, 0, model=self._model)
        if feed.number != index.number:
            await asyncio.to_thread(index.apply, feed)
            await self._remember(user, index, feed)
        return index

    async def _head_start(self, user: str, snapshots: Snapshots) -> SpaceIndex | None:
        """The index of the user's snapshot, if it is of this database's history; else None."""
        loaded = await asyncio.to_thread(snapshots.load, user)
        if loaded is None:
            return None
        index, marked = loaded
        rows = await self._storage.journal(user, before=index.number + 1, limit=1)
        if [mark(row) for row in rows] != [marked]:
            await asyncio.to_thread(snapshots.ignore, user, "the journal tells another story")
            return None
        return index

    async def _remember(self, user: str, index: SpaceIndex, feed: Feed) -> None:
        """Drops a snapshot that may hold what was erased, and begins one where it is worth it."""
        if self._snapshots is None:
            return
        if any(entry.status == "erased" for entry in feed.entries):
            await self.drop_snapshot(user)
        if index.unsaved >= self._worth and user not in self._tasks:
            task = self._tasks[user] = asyncio.create_task(self._write(user, self._snapshots))
            task.add_done_callback(lambda _: self._tasks.pop(user, None))

    async def _write(self, user: str, snapshots: Snapshots) -> None:
        try:
            async with self.index(user) as index:
                generation = snapshots.generation(user)
                rows = await self._storage.journal(user, before=index.number + 1, limit=1)
                saved = await asyncio.to_thread(index.saved)
                index.unsaved = 0
        except StorageFailed as failure:
            log.warning("no index snapshot was written: %s", failure.code)
            return
        if rows and rows[0].number == saved["number"]:
            await asyncio.to_thread(snapshots.write, user, saved, mark(rows[0]), generation)
