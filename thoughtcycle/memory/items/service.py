"""Items: what apps keep by key beside a user's memories, in a space of its own, and when one runs out."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any, TypeAlias

from thoughtcycle.memory.core import Core
from thoughtcycle.memory.erasure import Erasure
from thoughtcycle.memory.index import ACTIVE, Filters, MemoryQuery
from thoughtcycle.memory.model import Access, item_space
from thoughtcycle.memory.records import PAGE
from thoughtcycle.memory.search import FACTS, Search, plain_query
from thoughtcycle.memory.storage import StoredItem

PASSING = "passing"
"""Tag of the items that run out some time."""

Test: TypeAlias = Callable[[Any], bool]
"""Whether a search lets an item of this content through."""


def run_out(item: StoredItem, access: Access | None, now: datetime) -> bool:
    """Whether an item's time is over: its `ttl`, minutes since it was put or read (LangGraph's `PutOp`)."""
    minutes = item.content.get("ttl")
    if minutes is None:
        return False
    last = max(item.changed, access.last) if access else item.changed
    return bool((now - last).total_seconds() >= minutes * 60)


class Items:
    """What a store of items asks of the engine; the space is that of `owners.item_space`."""

    def __init__(self, core: Core, search: Search, erasure: Erasure) -> None:
        self._core = core
        self._search, self._erasure = search, erasure
        self._accesses = core.accesses
        self._clock = core.clock
        self._indexes = core.memory_indexes
        self._storage = core.storage

    async def keyed(self, user: str, keys: Collection[str]) -> dict[str, StoredItem]:
        """Key → the item that holds it; keys that none holds are left out."""
        found = await self._storage.memories.items(user, keys=keys) if keys else []
        return {item.key: item for item in found if item.key is not None}

    async def items(self, user: str, ids: Sequence[str]) -> list[StoredItem]:
        """Those of these items that are there, in this order, as they read now."""
        found = {item.id: item for item in await self._storage.memories.items(user, ids=ids)} if ids else {}
        return [found[id] for id in ids if id in found]

    async def deleted(self, user: str, key: str) -> list[str]:
        """Ids of the items that held this key until they were deleted, the last deleted first."""
        found = await self._storage.memories.listing(user, ["hidden"], key=key)
        return [record.id for record in found if record.current is None]

    async def tagged(self, user: str, tag: str | None) -> list[str]:
        """Ids of the items with this tag (None: of all), the last changed first."""
        async with self._indexes.index(user) as index:
            return list(index.active.matching(_tagged(tag)))

    async def passed(
        self, user: str, test: Test | None, *, tag: str | None, first: Collection[str], limit: int
    ) -> list[str]:
        """Ids of at most `limit` items with this tag that pass `test` and whose time is not over.

        Those that come `first`, in their order, then the others, the last changed first. `test` must not
        change what it is given; what it looks at stays in memory, up to `values.MOST`.
        """
        found: list[str] = []
        async with self._indexes.index(user) as index:
            ids, passing = index.active.matching(_tagged(tag)), set(index.active.matching(_tagged(PASSING)))
            if first:
                there = dict.fromkeys(ids)
                ids = chain(filter(there.__contains__, first), (id for id in there if id not in first))
            size = PAGE if test is not None else min(max(limit, 1), len(index))
            while len(found) < limit and (some := list(islice(ids, size))):
                looked = [id for id in some if test is not None or id in passing]
                items = await self._indexes.items(user, index, looked)
                fitting = [item for item in items if test is None or test(item.content)]
                out = set(looked).difference(item.id for item in fitting) | await self.passing(user, fitting)
                found += [id for id in some if id not in out]
                await asyncio.sleep(0)  # of very many items, other callers have their turn between two pages
        return found[:limit]

    async def likeliest(self, user: str, query: str, *, tag: str | None, limit: int) -> dict[str, float]:
        """Id → relevance in (0, 1] of the active memories with this tag that `query` speaks of, best first.

        At most `limit`; however little they have to do with it. No document is read. Raises ModelFailed.
        """
        query = plain_query(query)
        vector = await self._search.query_vector(user, query, None, FACTS)
        wanted = MemoryQuery(query, vector, _tagged(tag), limit, floor=0.0)
        found = await self._search.candidates(user, wanted, ACTIVE)
        return {one.memory: one.relevance for one in found[:limit]}

    async def tags(self, user: str) -> list[str]:
        """All tags of the active memories, sorted."""
        async with self._indexes.index(user) as index:
            return index.active.tags()

    def note_read(self, user: str, ids: Iterable[str]) -> None:
        """Counts one access of each of these memories, which is written behind."""
        self._accesses.note(user, ids, self._clock())

    async def passing(self, user: str, items: Iterable[StoredItem]) -> set[str]:
        """The ids of those of these items whose time is over."""
        now = self._clock()
        over = [item for item in items if run_out(item, None, now)]
        read = await self._accesses.read(user, [item.id for item in over]) if over else {}
        return {item.id for item in over if run_out(item, read.get(item.id), now)}

    async def sweep_items(self, user: str) -> int:
        """Gives up the items of `user` whose time is over: the next erasing empties them. How many."""
        space, count = item_space(user), 0
        ids = await self.tagged(space, PASSING)
        for start in range(0, len(ids), PAGE):
            over = await self.passing(space, await self.items(space, ids[start : start + PAGE]))
            if over:
                await self._erasure.give_up(space, over)
            count += len(over)
        return count

    async def erase_passed(self, user: str) -> int:
        """As `sweep_items`, and empties them at once."""
        count = await self.sweep_items(user)
        if count:
            await self._erasure.complete(item_space(user))
        return count


def _tagged(tag: str | None) -> Filters:
    return Filters(tags=None if tag is None else (tag,))
