"""What the garden asks of the engine: pages of what is active, and its changes, many in one go."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace

from thoughtcycle.memory.changes import archived, corrected
from thoughtcycle.memory.embedder import packed
from thoughtcycle.memory.engine import owned
from thoughtcycle.memory.owners import owner_of
from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.memory.searching import Searching
from thoughtcycle.memory.storage.base import Write

PAGE = 500


class Tending(Searching):
    """Upkeep of a user's memories; `undo` takes each change back."""

    async def pages(self, user: str, *, size: int = PAGE) -> AsyncIterator[list[MemoryRecord]]:
        """All active memories, those changed longest ago first, a page at a time.

        What changes on the way comes again at the end, once; whoever changes what it sees has to bear that.
        """
        rows = await self._storage.journal(owned(user), limit=1)
        last, after = rows[0].number if rows else 0, 0
        while after < last and (page := await self._storage.page(user, after=after, limit=size)):
            yield [record for record in page if record.status == "active" and record.revision <= last]
            after = page[-1].revision

    async def users(self) -> list[str]:
        """Everybody of whom anything is kept: for those who look after the database, never for a user."""
        return sorted({owner_of(space) for space in await self._storage.users()})

    async def prioritise(self, user: str, priorities: Mapping[str, float]) -> int:
        """Moves priorities (id → 1…10), all or none; how many moved. What is no longer active stays."""

        async def plan() -> tuple[Sequence[Write], None]:
            records = await self._storage.records(user, list(priorities))
            at = self._clock()
            return [
                Write(moved, "prioritise", at, before=record)
                for record in records
                if record.status == "active"
                and (moved := record.model_copy(update={"priority": priorities[record.id]})) != record
            ], None

        stored, _ = await self._change(owned(user), plan)
        return len(stored)

    async def put_aside(self, user: str, ids: Sequence[str], still: Callable[[MemoryRecord], bool]) -> int:
        """Archives those of these memories that are active and `still` to be archived as they are now.

        All in one go; how many there were. One that was said again or pinned meanwhile stays.
        """

        async def plan() -> tuple[Sequence[Write], None]:
            records = await self._storage.records(user, list(ids))
            going = [record for record in records if record.status == "active" and still(record)]
            return archived(going, at=self._clock(), cycle=None), None

        stored, _ = await self._change(owned(user), plan)
        return len(stored)

    async def condense(self, user: str, id: str, content: str, *, was: str) -> MemoryRecord:
        """Says an active memory in fewer words, in place; the journal keeps the longer ones.

        One that says something else than `was` by now, or was pinned, stays as it is.
        It is not used thereby: what is told by its last use stays as it was.
        Raises InputRefused('memory_not_active').
        """
        vectors = packed(await self.embed([content]))

        async def plan() -> tuple[Sequence[Write], MemoryRecord]:
            record = await self._active(user, id)
            if record.content != was or record.pinned:
                return (), record
            keys = await self._keys([record], vectors)
            changed = record.model_copy(update={"content": content})
            (write,) = corrected(record, changed, keys, self._clock(), None, op="condense")
            return [
                replace(write, record=write.record.model_copy(update={"updated": record.updated}))
            ], record

        stored, before = await self._change(owned(user), plan)
        return stored.get(before.id, before)
