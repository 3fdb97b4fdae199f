"""Items: what apps keep by key beside a user's memories, in a space of its own, and when one runs out."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from thoughtcycle.memory.erasing import Erasing
from thoughtcycle.memory.facets import Filters
from thoughtcycle.memory.index import ACTIVE
from thoughtcycle.memory.owners import item_space
from thoughtcycle.memory.recipes import DEFAULT, recipe_of
from thoughtcycle.memory.records import Access, MemoryRecord
from thoughtcycle.memory.searching import FACTS, Look, plain_query
from thoughtcycle.memory.tending import PAGE, Tending

PASSING = "passing"
"""Tag of the items that run out some time."""


def changed_at(item: MemoryRecord) -> datetime:
    """When an item was last put, also as it was already."""
    return max(item.updated, item.reinforced_at or item.updated)


def run_out(item: MemoryRecord, access: Access | None, now: datetime) -> bool:
    """Whether an item's time is over: its `ttl`, minutes since it was put or read (LangGraph's `PutOp`)."""
    minutes = item.content.get("ttl")
    if minutes is None:
        return False
    put = changed_at(item)
    return now - max(put, access.last if access else put) >= timedelta(minutes=minutes)


class Items(Erasing, Tending):
    """What a store of items asks of the engine; the space is that of `owners.item_space`."""

    async def keyed(self, user: str, keys: Collection[str]) -> dict[str, MemoryRecord]:
        """Key → the active memory that holds it; keys that none holds are left out."""
        found = await self._storage.same(user, identities=(), keys=set(keys)) if keys else []
        return {record.key: record for record in found if record.key is not None}

    async def tagged(self, user: str, tag: str | None) -> list[str]:
        """Ids of the active memories with this tag (None: of all), the last changed first."""
        filters = Filters(tags=None if tag is None else (tag,))
        async with self._spaces.index(user) as index:
            return index.active.among(filters)

    async def likeliest(self, user: str, query: str, *, tag: str | None, limit: int) -> dict[str, float]:
        """Id → relevance in (0, 1] of the active memories with this tag that `query` speaks of, best first.

        At most `limit`; however little they have to do with it. No document is read. Raises ModelFailed.
        """
        query = plain_query(query)
        direction = await self._direction(user, query, None, FACTS)
        filters = Filters(tags=None if tag is None else (tag,))
        look = Look(query, direction, filters, limit, 0.0, recipe_of(DEFAULT))
        found = await self._among(user, look, ACTIVE)
        return {one.memory: one.relevance for one in found[:limit]}

    async def tags(self, user: str) -> list[str]:
        """All tags of the active memories, sorted."""
        async with self._spaces.index(user) as index:
            return index.active.tags()

    def note_read(self, user: str, ids: Iterable[str]) -> None:
        """Counts one access of each of these memories, which is written behind."""
        self._accesses.note(user, ids, self._clock())

    async def passing(self, user: str, items: Collection[MemoryRecord]) -> set[str]:
        """The ids of those of these items whose time is over."""
        timed = [item for item in items if item.content.get("ttl") is not None]
        found: Mapping[str, Access] = {}
        if timed:
            found = await self._accesses.read(user, [item.id for item in timed])
        now = self._clock()
        return {item.id for item in timed if run_out(item, found.get(item.id), now)}

    async def sweep_items(self, user: str) -> int:
        """Gives up the items of `user` whose time is over: the next erasing empties them. How many."""
        space, count = item_space(user), 0
        ids = await self.tagged(space, PASSING)
        for start in range(0, len(ids), PAGE):
            records = await self._storage.records(space, ids[start : start + PAGE])
            items = [record for record in records if record.status == "active"]
            over = await self.passing(space, items)
            if over:
                await self.give_up(space, over)
            count += len(over)
        return count
