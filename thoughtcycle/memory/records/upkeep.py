"""What the garden asks of the engine: pages of what is active, and its changes, many in one go."""

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.index import packed
from thoughtcycle.memory.model import MemoryRecord, owner_of
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.versioning import archived, corrected, merged

PAGE = 500


class RecordUpkeep:
    """Upkeep of a user's memories; `undo` takes each change back."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._clock = core.clock
        self._storage = core.storage

    async def pages(self, user: str, *, size: int = PAGE) -> AsyncIterator[list[MemoryRecord]]:
        """All active memories, those changed longest ago first, a page at a time.

        What changes on the way is not shown again.
        """
        rows = await self._storage.memories.journal(owned(user), limit=1)
        last, after = rows[0].number if rows else 0, 0
        while after < last:
            page = await self._storage.memories.listing(user, ["active"], after=after, limit=size)
            if shown := [record for record in page if record.revision <= last]:
                yield shown
            after = page[-1].revision if page else last

    async def users(self) -> list[str]:
        """Everybody of whom anything is kept: for those who look after the database, never for a user."""
        return sorted({owner_of(space) for space in await self._storage.users.listing()})

    async def prioritise(
        self, user: str, priorities: Mapping[str, float], *, seen: Iterable[MemoryRecord] = ()
    ) -> int:
        """Moves priorities (id → 1…10), all or none; how many moved. What is no longer active stays.

        `seen`: these memories as they were read; they are read again only if one has changed since.
        """
        read = self._as_seen(owned(user), list(priorities), seen)

        async def plan() -> tuple[Sequence[Write], None]:
            at = self._clock()
            moving = [(record, {"priority": priorities[record.id]}) for record in await read()]
            return [
                Write(record.model_copy(update=fields), "prioritise", at, before=record)
                for record, fields in moving
                if record.status == "active" and record.priority != fields["priority"]
            ], None

        stored, _ = await self._core.change(user, plan)
        return len(stored)

    async def put_aside(
        self,
        user: str,
        ids: Sequence[str],
        still: Callable[[MemoryRecord], bool],
        *,
        seen: Iterable[MemoryRecord] = (),
    ) -> int:
        """Archives those of these memories that are active and `still` to be archived as they are now.

        All in one go; how many there were. One that was said again or pinned meanwhile stays. `seen` as in
        `prioritise`.
        """
        read = self._as_seen(owned(user), ids, seen)

        async def plan() -> tuple[Sequence[Write], None]:
            going = [record for record in await read() if record.status == "active" and still(record)]
            return archived(going, at=self._clock(), cycle=None), None

        stored, _ = await self._core.change(user, plan)
        return len(stored)

    async def merge_all(
        self,
        user: str,
        pairs: Mapping[str, str],
        still: Callable[[MemoryRecord, MemoryRecord], bool],
    ) -> int:
        """Merges pairs (the one to end → the one to keep) as `merge` does, in one go; how many there were.

        A memory may be in one pair only. Pairs that are no longer active, or not `still` to be merged as they
        are now, stay two.
        """
        ids = [*pairs, *pairs.values()]

        async def plan() -> tuple[Sequence[Write], int]:
            records = {record.id: record for record in await self._storage.memories.records(user, ids)}
            due = [
                (kept, ended)
                for other, keep in pairs.items()
                if (kept := records.get(keep)) is not None
                and (ended := records.get(other)) is not None
                and kept.status == ended.status == "active"
                and still(kept, ended)
            ]
            return await self._merging(user, due), len(due)

        _, count = await self._core.change(owned(user), plan)
        return count

    async def _merging(self, user: str, due: Sequence[tuple[MemoryRecord, MemoryRecord]]) -> list[Write]:
        """The writes that merge each second one into the first."""
        keys = await self._core.keys([record for pair in due for record in pair], {})
        former: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
        for version in await self._storage.memories.versions(user, [ended.id for _, ended in due]):
            former[version.current or ""].append(version)
        at = self._clock()
        return [
            write for kept, ended in due for write in merged(kept, ended, former[ended.id], keys, at, None)
        ]

    async def condense(self, user: str, id: str, content: str, *, was: str) -> MemoryRecord:
        """Says an active memory in fewer words, in place; the journal keeps the longer ones.

        One that says something else than `was` by now, or was pinned, stays as it is.
        It is not used thereby: what is told by its last use stays as it was.
        Raises MemoryNotActive.
        """
        vectors = packed(await self._core.embed([content]))

        async def plan() -> tuple[Sequence[Write], MemoryRecord]:
            record = await self._core.active(user, id)
            if record.content != was or record.pinned:
                return (), record
            keys = await self._core.keys([record], vectors)
            changed = record.model_copy(update={"content": content})
            (write,) = corrected(record, changed, keys, self._clock(), None, op="condense")
            return [
                replace(write, record=write.record.model_copy(update={"updated": record.updated}))
            ], record

        stored, before = await self._core.change(owned(user), plan)
        return stored.get(before.id, before)

    def _as_seen(
        self, user: str, ids: Sequence[str], seen: Iterable[MemoryRecord]
    ) -> Callable[[], Awaitable[list[MemoryRecord]]]:
        """Gives what was seen the first time, and reads these memories when that proves to be out of date."""
        wanted = set(ids)
        known = [record for record in seen if record.id in wanted]

        async def read() -> list[MemoryRecord]:
            nonlocal known
            found, known = known, []
            return found or await self._storage.memories.records(user, ids)

        return read
