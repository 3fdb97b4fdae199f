"""Items that apps keep by key beside a user's memories, in a space of their own, and their expiry."""

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
"""Tag of items with an expiry."""

Test: TypeAlias = Callable[[Any], bool]
"""Whether a search lets an item of this content through."""


def has_expired(item: StoredItem, access: Access | None, now: datetime) -> bool:
    """Whether an item has expired: `ttl` minutes after it was put or read (LangGraph's `PutOp`)."""
    minutes = item.content.get("ttl")
    if minutes is None:
        return False
    last = max(item.changed, access.last) if access else item.changed
    return bool((now - last).total_seconds() >= minutes * 60)


class Items:
    """The items of a space, that of `item_space(user)`."""

    def __init__(self, core: Core, search: Search, erasure: Erasure) -> None:
        self._search, self._erasure = search, erasure
        self._accesses, self._clock = core.accesses, core.clock
        self._memories, self._indexes = core.storage.memories, core.memory_indexes

    async def keyed(self, user: str, keys: Collection[str]) -> dict[str, StoredItem]:
        """Key → item; keys without an item are left out."""
        found = await self._memories.items(user, keys=keys) if keys else []
        return {item.key: item for item in found if item.key is not None}

    async def items(self, user: str, ids: Sequence[str]) -> list[StoredItem]:
        """The stored items among `ids`, in this order."""
        found = {item.id: item for item in await self._memories.items(user, ids=ids)} if ids else {}
        return [found[id] for id in ids if id in found]

    async def deleted(self, user: str, key: str) -> list[str]:
        """Ids of the items that held this key until they were deleted, the last deleted first."""
        found = await self._memories.listing(user, ["hidden"], key=key)
        return [record.id for record in found if record.current is None]

    async def tagged(self, user: str, tag: str | None) -> list[str]:
        """Ids of the items with this tag (None: of all), the last changed first."""
        async with self._indexes.index(user) as index:
            return list(index.active.matching(_tagged(tag)))

    async def passed(
        self, user: str, test: Test | None, *, tag: str | None, first: Collection[str], limit: int
    ) -> list[str]:
        """Ids of at most `limit` items with this tag that pass `test` and have not expired.

        First those of `first`, in their order, then the others, the last changed first. `test` must not
        change the content it is given, which is cached (`ItemCache`).
        """
        found: list[str] = []
        async with self._indexes.index(user) as index:
            ids, passing = index.active.matching(_tagged(tag)), set(index.active.matching(_tagged(PASSING)))
            if first:
                there = dict.fromkeys(ids)
                ids = chain(filter(there.__contains__, first), (id for id in there if id not in first))
            size = PAGE if test is not None else min(max(limit, 1), len(index))
            while len(found) < limit and (page := list(islice(ids, size))):
                read = [id for id in page if test is not None or id in passing]
                items = await self._indexes.items(user, index, read)
                fitting = [item for item in items if test is None or test(item.content)]
                out = set(read).difference(item.id for item in fitting) | await self.expired(user, fitting)
                found += [id for id in page if id not in out]
                await asyncio.sleep(0)  # lets other callers run between two pages
        return found[:limit]

    async def likeliest(self, user: str, query: str, *, tag: str | None, limit: int) -> dict[str, float]:
        """Id → relevance in (0, 1] of the `limit` items with this tag that answer `query` best, best first.

        There is no floor. No record is read. Raises ModelFailed.
        """
        query = plain_query(query)
        vector = await self._search.query_vector(user, query, None, FACTS)
        wanted = MemoryQuery(query, vector, _tagged(tag), limit, floor=0.0)
        found = await self._search.candidates(user, wanted, ACTIVE)
        return {one.memory: one.relevance for one in found[:limit]}

    async def tags(self, user: str) -> list[str]:
        """All tags of the active items, sorted."""
        async with self._indexes.index(user) as index:
            return index.active.tags()

    def note_read(self, user: str, ids: Iterable[str]) -> None:
        """Counts one access of each of these items, written behind."""
        self._accesses.note(user, ids, self._clock())

    async def expired(self, user: str, items: Iterable[StoredItem]) -> set[str]:
        """Ids of the expired ones of these items."""
        now = self._clock()
        old = [item for item in items if has_expired(item, None, now)]
        read = await self._accesses.read(user, [item.id for item in old]) if old else {}
        return {item.id for item in old if has_expired(item, read.get(item.id), now)}

    async def sweep_items(self, user: str) -> int:
        """Hides expired items of `user` for the next erasure; returns how many."""
        space, count = item_space(user), 0
        ids = await self.tagged(space, PASSING)
        for start in range(0, len(ids), PAGE):
            expired = await self.expired(space, await self.items(space, ids[start : start + PAGE]))
            if expired:
                await self._erasure.give_up(space, expired)
            count += len(expired)
        return count

    async def erase_passed(self, user: str) -> int:
        """As `sweep_items`, and erases them at once."""
        if count := await self.sweep_items(user):
            await self._erasure.complete(item_space(user))
        return count


def _tagged(tag: str | None) -> Filters:
    return Filters(tags=None if tag is None else (tag,))
