"""What a store's operations do in one owner's space of items."""

from collections.abc import AsyncIterator, Mapping, Sequence

from langgraph.store.base import GetOp, Item, ListNamespacesOp, SearchItem, SearchOp

from thoughtcycle.integrations.items import (
    Namespace,
    as_hit,
    as_item,
    as_version,
    below,
    fits,
    item_key,
    listed,
    namespaces_of,
)
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.owners import ItemSpace, owner_of
from thoughtcycle.memory.receipt import Receipt
from thoughtcycle.memory.records import MemoryDraft, MemoryRecord, Status

HIDDEN: tuple[Status, ...] = ("hidden",)
_AT_ONCE = 200
"""Items read at once where they are gone through one after the other."""
_ALL = 1_000_000
"""As many as are ranked where a filter may leave only the last of them."""


class ItemsOf:
    """The items of one owner."""

    def __init__(self, memory: Memory, space: ItemSpace) -> None:
        self._memory, self._space = memory, space

    async def get(self, ops: Sequence[GetOp]) -> list[Item | None]:
        """One answer per operation, in order."""
        keys = [item_key(op.namespace, op.key) for op in ops]
        found = await self._memory.keyed(self._space, keys)
        over = await self._memory.passing(self._space, found.values())
        there = {key: record for key, record in found.items() if record.id not in over}
        read = [there[key] for key, op in zip(keys, ops, strict=True) if op.refresh_ttl and key in there]
        self._refresh(read)
        return [as_item(there[key]) if key in there else None for key in keys]

    async def put(self, drafts: Mapping[str, MemoryDraft | None]) -> None:
        """Puts items, all or none, by their keys; then deletes those for which there is None."""
        if kept := [draft for draft in drafts.values() if draft is not None]:
            await self._memory.save(self._space, kept)
        gone = await self._memory.keyed(self._space, [key for key, draft in drafts.items() if draft is None])
        if gone:
            await self._memory.hide(self._space, [record.id for record in gone.values()])

    async def search(self, op: SearchOp) -> list[SearchItem]:
        """What a query finds, best first; behind it, without a score, the other items, newest first."""
        wanted, tag = max(0, op.offset) + max(0, op.limit), below(op.namespace_prefix)
        scores: Mapping[str, float] = {}
        if op.query and wanted:
            most = _ALL if op.filter else wanted
            scores = await self._memory.likeliest(self._space, op.query, tag=tag, limit=most)
        page: list[MemoryRecord] = []
        async for record in self._fitting(op, scores, tag, wanted):
            page.append(record)
            if len(page) == wanted:
                break
        page = page[max(0, op.offset) :]
        if op.refresh_ttl:
            self._refresh(page)
        return [as_hit(record, scores.get(record.id)) for record in page]

    async def namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        """The namespaces in which items are, sorted; of items whose time is over until they are swept."""
        tags = await self._memory.tags(self._space)
        found = listed(namespaces_of(tags), op.match_conditions or (), op.max_depth)
        return found[op.offset :][: op.limit]

    async def history(self, namespace: Namespace, key: str) -> list[Item]:
        """See `ThoughtCycleStore.history`."""
        found = await self._memory.keyed(self._space, [item_key(namespace, key)])
        return [
            as_version(version, record)
            for record in found.values()
            for version in await self._memory.versions(self._space, record.id)
        ]

    async def undo(self, namespace: Namespace, key: str) -> Item | None:
        """See `ThoughtCycleStore.undo`."""
        for record in await self._own(namespace, key):
            done = await self._memory.undo(self._space, record.id)
            if done.record is not None:
                return as_item(done.record) if done.record.status == "active" else None
        return None

    async def erase(self, namespace: Namespace, key: str) -> Receipt:
        """See `ThoughtCycleStore.erase`."""
        own = await self._own(namespace, key)
        receipt = await self._memory.erase(self._space, [record.id for record in own])
        return receipt.model_copy(update={"user": owner_of(self._space)})

    async def _own(self, namespace: Namespace, key: str) -> list[MemoryRecord]:
        """The memories that keep this item, or kept it until it was deleted: the present one first."""
        name = item_key(namespace, key)
        found = await self._memory.keyed(self._space, [name])
        hidden = await self._memory.list(self._space, statuses=HIDDEN)
        return [*found.values(), *(one for one in hidden if one.key == name and one.current is None)]

    async def _fitting(
        self, op: SearchOp, first: Mapping[str, float], tag: str | None, wanted: int
    ) -> AsyncIterator[MemoryRecord]:
        """The items that a search lets through: those that come `first`, then the others."""
        if not wanted:
            return
        others = await self._memory.tagged(self._space, tag)
        ids = [*first, *(id for id in others if id not in first)]
        size = _AT_ONCE if op.filter else min(wanted, _AT_ONCE)
        for start in range(0, len(ids), size):
            records = await self._memory.active(self._space, ids[start : start + size])
            fitting = [record for record in records if fits(record.content["value"], op.filter)]
            over = await self._memory.passing(self._space, fitting)
            for record in fitting:
                if record.id not in over:
                    yield record

    def _refresh(self, records: Sequence[MemoryRecord]) -> None:
        """Lets the time of items that run out begin anew."""
        timed = [record.id for record in records if "ttl" in record.content]
        if timed:
            self._memory.note_read(self._space, timed)
