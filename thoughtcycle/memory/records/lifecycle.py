"""What becomes of a memory while it is kept: pinned, reinforced, merged, archived and restored."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from thoughtcycle.errors import InputRefused, MemoryNotActive
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.index import aware
from thoughtcycle.memory.model import JournalEntry, MemoryRecord, Op
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.versioning import (
    archived,
    fresh,
    marked,
    merged,
    moved_versions,
    unarchived,
    unmerged,
)


class Lifecycle:
    """Changes that leave what a memory says as it is; `undo` takes each of them back.

    The id of a memory that was merged into another stands for that one. All raise
    MemoryUnknown before anything changes; `cycle` names the cycle that asked for the change.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._clock = core.clock
        self._storage = core.storage

    async def pin(self, user: str, ids: Iterable[str], *, cycle: str | None = None) -> list[MemoryRecord]:
        """Keeps active memories, all or none, from fading and from the archive until `unpin`.

        Raises MemoryNotActive.
        """
        return await self._mark(user, ids, "pin", cycle, pinned=True)

    async def unpin(self, user: str, ids: Iterable[str], *, cycle: str | None = None) -> list[MemoryRecord]:
        """Lets active memories, all or none, live like any other; raises as `pin`."""
        return await self._mark(user, ids, "unpin", cycle, pinned=False)

    async def reinforce(
        self, user: str, id: str, *, cycle: str | None = None, said: datetime | None = None
    ) -> MemoryRecord:
        """Marks an active memory as said again at `said` (None: now); the cycle it came from never does.

        Without `cycle` it is done by hand, and `undo` takes it back. What was said before it was last
        reinforced changes nothing.
        Raises MemoryNotActive.
        """

        async def plan() -> tuple[Sequence[Write], MemoryRecord]:
            record = await self._core.active(user, id)
            if cycle is not None and cycle == record.source.cycle:
                return (), record
            at = self._clock()
            again = min(aware(said) or at, at)
            if not fresh(record, again):
                return (), record
            stronger = record.model_copy(update={"reinforced_at": again})
            return [Write(stronger, "reinforce", at, before=record, cycle=cycle)], record

        stored, before = await self._core.change(owned(user), plan)
        return stored.get(before.id, before)

    async def archive(self, user: str, ids: Iterable[str], *, cycle: str | None = None) -> list[MemoryRecord]:
        """Puts active memories aside, all or none: kept in full, and their key is free for another memory.

        What is archived already stays as it is. Raises MemoryNotActive, InputRefused('memory_pinned').
        """
        wanted = list(dict.fromkeys(ids))

        async def plan() -> tuple[Sequence[Write], list[MemoryRecord]]:
            records = await self._core.current(user, wanted)
            return archived(records, at=self._clock(), cycle=cycle), records

        stored, before = await self._core.change(owned(user), plan)
        return [stored.get(record.id, record) for record in before]

    async def restore(self, user: str, ids: Iterable[str], *, cycle: str | None = None) -> list[MemoryRecord]:
        """Makes archived memories active again, all or none, just as they were; a past expiry is lifted.

        What is active already stays as it is. Raises InputRefused('memory_not_archived'), and
        'restore_replaced' when an active memory has the same key or says the same by now.
        """
        wanted = list(dict.fromkeys(ids))

        async def plan() -> tuple[Sequence[Write], list[MemoryRecord]]:
            records = await self._core.current(user, wanted)
            writes = unarchived(records, at=self._clock(), cycle=cycle)
            await self._core.require_place(user, [write.record for write in writes], "restore_replaced")
            return writes, records

        stored, before = await self._core.change(owned(user), plan)
        return [stored.get(record.id, record) for record in before]

    async def merge(
        self,
        user: str,
        keep: str,
        other: str,
        *,
        cycle: str | None = None,
        still: Callable[[MemoryRecord, MemoryRecord], bool] = lambda keep, other: True,
    ) -> MemoryRecord:
        """Makes one memory of two that say the same: the broader one, `keep`, stays and is reinforced (HM-6).

        `keep` is found under the search contexts of both. `other`, active or archived, becomes a former
        version of it, and its id stands for `keep` from now on. Merging again changes nothing, nor does it
        where the two are not `still` to be merged as they are now.
        Raises MemoryNotActive.
        """

        async def plan() -> tuple[Sequence[Write], MemoryRecord]:
            kept = await self._core.active(user, keep)
            (ended,) = await self._core.current(user, [other])
            if ended.id == kept.id or not still(kept, ended):
                return (), kept
            if ended.status not in ("active", "archived"):
                raise MemoryNotActive(other)
            versions = await self._storage.memories.versions(user, [ended.id])
            keys = await self._core.keys([kept, ended], {})
            return merged(kept, ended, versions, keys, self._clock(), cycle), kept

        stored, before = await self._core.change(owned(user), plan)
        return stored.get(before.id, before)

    async def _mark(
        self, user: str, ids: Iterable[str], op: Op, cycle: str | None, **fields: Any
    ) -> list[MemoryRecord]:
        wanted = list(dict.fromkeys(ids))

        async def plan() -> tuple[Sequence[Write], list[MemoryRecord]]:
            at, records = self._clock(), await self._core.current(user, wanted)
            if other := next((record for record in records if record.status != "active"), None):
                raise MemoryNotActive(other.id)
            return [write for one in records for write in marked(one, op, at, cycle=cycle, **fields)], records

        stored, before = await self._core.change(owned(user), plan)
        return [stored.get(record.id, record) for record in before]

    async def unmerging(self, user: str, entry: JournalEntry) -> Sequence[Write]:
        """The writes that take a merge back, given the row of either memory.

        Raises InputRefused('undo_merged') when one of them has changed since, 'undo_replaced' when another
        memory stands in the way.
        """
        refusal = InputRefused("undo_merged", id=repr(entry.memory))
        (record,) = await self._core.known(user, [entry.memory])
        number = entry.number + 1 if record.merged else entry.number
        rows = await self._storage.memories.journal(user, before=number + 1, limit=2)
        if len(rows) < 2 or any(row.op != "merge" or row.before is None for row in rows):
            raise refusal
        kept, ended = rows
        keep, other = await self._core.known(user, [kept.memory, ended.memory])
        versions = await self._storage.memories.versions(user, [keep.id])
        earlier = await self._storage.memories.journal(user, before=ended.number, limit=len(versions))
        taken = moved_versions(earlier, versions, other.id)
        keys = await self._core.keys([keep], {})
        writes = unmerged(kept, ended, keep, other, taken, keys, self._clock())
        if writes is None:
            raise refusal
        back = [write.record for write in writes[:2]]
        await self._core.require_place(user, back, "undo_replaced", without=[record.id for record in back])
        return writes
