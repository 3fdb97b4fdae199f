"""The operations of a LangGraph store in one owner's space of items."""

from collections.abc import Mapping, Sequence

from langgraph.store.base import GetOp, Item, ListNamespacesOp, SearchItem, SearchOp

from thoughtcycle.integrations.item_filter import item_filter
from thoughtcycle.integrations.items import (
    Namespace,
    as_hit,
    as_item,
    as_version,
    item_key,
    list_namespaces,
    namespaces_of,
    tag_below,
)
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import ItemSpace, MemoryDraft, Receipt, owner_of
from thoughtcycle.memory.storage import StoredItem

_ATTEMPTS = 3
"""Tries of a search when an item changed between finding and reading it."""
_ALL = 1_000_000
"""Hits to be ranked where a filter may drop all but the last of them."""


class OwnerItems:
    """The items of one owner."""

    def __init__(self, memory: Memory, space: ItemSpace) -> None:
        self._memory, self._space = memory, space

    async def get(self, ops: Sequence[GetOp]) -> list[Item | None]:
        """One answer per operation, in order."""
        keys = [item_key(op.namespace, op.key) for op in ops]
        found = await self._memory.items.keyed(self._space, keys)
        over = await self._memory.items.passing(self._space, found.values())
        there = {key: item for key, item in found.items() if item.id not in over}
        read = [there[key] for key, op in zip(keys, ops, strict=True) if op.refresh_ttl and key in there]
        self._refresh(read)
        return [as_item(there[key]) if key in there else None for key in keys]

    async def put(self, drafts: Mapping[str, MemoryDraft | None]) -> None:
        """Puts items by their keys atomically; then deletes those whose draft is None."""
        if new := [draft for draft in drafts.values() if draft is not None]:
            await self._memory.save(self._space, new)
        deleted = [key for key, draft in drafts.items() if draft is None]
        if found := await self._memory.items.keyed(self._space, deleted):
            await self._memory.hide(self._space, [item.id for item in found.values()])

    async def search(self, op: SearchOp) -> list[SearchItem]:
        """Searches: hits best first, then, without a score, the other items, newest first."""
        offset, limit, tag = max(0, op.offset), max(0, op.limit), tag_below(op.namespace_prefix)
        test, scores = item_filter(op.filter), dict[str, float]()
        if op.query and limit:
            most = offset + limit if test is None else _ALL
            scores = await self._memory.items.likeliest(self._space, op.query, tag=tag, limit=most)
        page: list[StoredItem] = []
        for _ in range(_ATTEMPTS if limit else 0):
            ids = await self._memory.items.passed(
                self._space, test, tag=tag, first=scores, limit=offset + limit
            )
            page = await self._memory.items.items(self._space, ids[offset:])
            page = [item for item in page if test is None or test(item.content)]
            if len(page) == len(ids[offset:]):
                break
        if op.refresh_ttl:
            self._refresh(page)
        return [as_hit(item, scores.get(item.id)) for item in page]

    async def namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        """The namespaces of items, sorted; expired items count until they are swept."""
        tags = await self._memory.items.tags(self._space)
        found = list_namespaces(namespaces_of(tags), op.match_conditions or (), op.max_depth)
        return found[op.offset :][: op.limit]

    async def history(self, namespace: Namespace, key: str) -> list[Item]:
        """See `ThoughtCycleStore.history`."""
        found = await self._memory.items.keyed(self._space, [item_key(namespace, key)])
        return [
            as_version(version, item.created)
            for item in found.values()
            for version in await self._memory.versions(self._space, item.id)
        ]

    async def undo(self, namespace: Namespace, key: str) -> Item | None:
        """See `ThoughtCycleStore.undo`."""
        name = item_key(namespace, key)
        for id in await self._ids(name):
            done = await self._memory.undo(self._space, id)
            if done.undone is not None:
                found = await self._memory.items.keyed(self._space, [name])
                return as_item(found[name]) if name in found else None
        return None

    async def erase(self, namespace: Namespace, key: str) -> Receipt:
        """See `ThoughtCycleStore.erase`."""
        receipt = await self._memory.erase(self._space, await self._ids(item_key(namespace, key)))
        return receipt.model_copy(update={"user": owner_of(self._space)})

    async def _ids(self, name: str) -> list[str]:
        """Ids of the memories of this item, the present one first, then deleted ones."""
        found = await self._memory.items.keyed(self._space, [name])
        return [*(item.id for item in found.values()), *await self._memory.items.deleted(self._space, name)]

    def _refresh(self, items: Sequence[StoredItem]) -> None:
        """Restarts the time to live of items that have one."""
        timed = [item.id for item in items if "ttl" in item.content]
        if timed:
            self._memory.items.note_read(self._space, timed)
