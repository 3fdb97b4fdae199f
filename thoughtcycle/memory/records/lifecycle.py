"""Changes that keep the content of a memory: pin, reinforce, merge, archive and restore."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from thoughtcycle.errors import InputRefused, MemoryNotActive
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.index import aware
from thoughtcycle.memory.model import JournalEntry, MemoryRecord, Op
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.versioning.merge import merge_writes, unmerge_writes, versions_taken_over
from thoughtcycle.memory.versioning.record_writes import (
    archive_writes,
    change_fields,
    reinforces,
    unarchive_writes,
)


class Lifecycle:
    """Changes that keep the content of a memory; `undo` takes each of them back.

    The id of a memory that was merged into another stands for that one. All raise
    MemoryUnknown before anything changes; `cycle` names the cycle that asked for the change.
    """

    def __init__(self, core: Core) -> None:
        self._core, self._clock, self._memories = core, core.clock, core.storage.memories

    async def pin(self, user: str, ids: Iterable[str], *, cycle: str | None = None) -> list[MemoryRecord]:
        """Protects active memories, all or none, from decay and archiving until `unpin`.

        Raises MemoryNotActive.
        """
        return await self._set_pinned(user, ids, "pin", cycle)

    async def unpin(self, user: str, ids: Iterable[str], *, cycle: str | None = None) -> list[MemoryRecord]:
        """Ends the protection of active memories, all or none; raises as `pin`."""
        return await self._set_pinned(user, ids, "unpin", cycle)

    async def _set_pinned(
        self, user: str, ids: Iterable[str], op: Op, cycle: str | None
    ) -> list[MemoryRecord]:
        async def plan(records: list[MemoryRecord]) -> list[Write]:
            if other := next((record for record in records if record.status != "active"), None):
                raise MemoryNotActive(other.id)
            at, pinned = self._clock(), op == "pin"
            return [
                write for one in records for write in change_fields(one, op, at, cycle=cycle, pinned=pinned)
            ]

        return await self._core.change_records(user, ids, plan)

    async def reinforce(
        self, user: str, id: str, *, cycle: str | None = None, said: datetime | None = None
    ) -> MemoryRecord:
        """Notes that an active memory was said again at `said` (None: now).

        The cycle it came from, and a time before its last reinforcement, change nothing. Without `cycle` it
        is done by hand, and `undo` takes it back. Raises MemoryNotActive.
        """

        async def plan() -> tuple[Sequence[Write], MemoryRecord]:
            record = await self._core.active(user, id)
            if cycle is not None and cycle == record.source.cycle:
                return (), record
            at = self._clock()
            again = min(aware(said) or at, at)
            if not reinforces(record, again):
                return (), record
            stronger = record.model_copy(update={"reinforced_at": again})
            return [Write(stronger, "reinforce", at, before=record, cycle=cycle)], record

        stored, before = await self._core.change(owned(user), plan)
        return stored.get(before.id, before)

    async def archive(self, user: str, ids: Iterable[str], *, cycle: str | None = None) -> list[MemoryRecord]:
        """Archives active memories, all or none: kept in full, and their key is free for another memory.

        Archived ones stay as they are. Raises MemoryNotActive, InputRefused('memory_pinned').
        """

        async def plan(records: list[MemoryRecord]) -> Sequence[Write]:
            return archive_writes(records, at=self._clock(), cycle=cycle)

        return await self._core.change_records(user, ids, plan)

    async def restore(self, user: str, ids: Iterable[str], *, cycle: str | None = None) -> list[MemoryRecord]:
        """Makes archived memories active again, all or none, as they were; a past expiry is lifted.

        Active ones stay as they are. Raises InputRefused('memory_not_archived'), and 'restore_replaced' when
        an active memory has the same key or content by now.
        """

        async def plan(records: list[MemoryRecord]) -> Sequence[Write]:
            writes = unarchive_writes(records, at=self._clock(), cycle=cycle)
            await self._core.require_place(user, [write.record for write in writes], "restore_replaced")
            return writes

        return await self._core.change_records(user, ids, plan)

    async def merge(
        self,
        user: str,
        keep: str,
        other: str,
        *,
        cycle: str | None = None,
        still: Callable[[MemoryRecord, MemoryRecord], bool] = lambda keep, other: True,
    ) -> MemoryRecord:
        """Merges two memories that say the same: the broader one, `keep`, stays and is reinforced (HM-6).

        `keep` is found under the search contexts of both. `other`, active or archived, becomes a former
        version of it, and its id stands for `keep` from now on. Idempotent; nothing changes where `still`
        says no to the two as they are now. Raises MemoryNotActive.
        """

        async def plan() -> tuple[Sequence[Write], MemoryRecord]:
            kept = await self._core.active(user, keep)
            (ended,) = await self._core.current(user, [other])
            if ended.id == kept.id or not still(kept, ended):
                return (), kept
            if ended.status not in ("active", "archived"):
                raise MemoryNotActive(other)
            versions = await self._memories.versions(user, [ended.id])
            keys = await self._core.search_vectors([kept, ended], {})
            return merge_writes(kept, ended, versions, keys, self._clock(), cycle), kept

        stored, before = await self._core.change(owned(user), plan)
        return stored.get(before.id, before)

    async def unmerge(self, user: str, entry: JournalEntry) -> Sequence[Write]:
        """The writes that undo a merge, given its journal row of either memory.

        Raises InputRefused('undo_merged') when one of them has changed since, 'undo_replaced' when another
        active memory has the same key or content.
        """
        refusal = InputRefused("undo_merged", id=repr(entry.memory))
        (record,) = await self._core.known(user, [entry.memory])
        number = entry.number + 1 if record.merged else entry.number
        rows = await self._memories.journal(user, before=number + 1, limit=2)
        if len(rows) < 2 or any(row.op != "merge" or row.before is None for row in rows):
            raise refusal
        kept, ended = rows
        keep, other = await self._core.known(user, [kept.memory, ended.memory])
        versions = await self._memories.versions(user, [keep.id])
        earlier = await self._memories.journal(user, before=ended.number, limit=len(versions))
        taken = versions_taken_over(earlier, versions, other.id)
        keys = await self._core.search_vectors([keep], {})
        writes = unmerge_writes(kept, ended, keep, other, taken, keys, self._clock())
        if writes is None:
            raise refusal
        back = [write.record for write in writes[:2]]
        await self._core.require_place(user, back, "undo_replaced", without=[record.id for record in back])
        return writes
