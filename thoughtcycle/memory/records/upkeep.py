"""Maintenance of active memories for the garden: pages to read, and changes of many in one commit."""

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.index import packed
from thoughtcycle.memory.model import MemoryRecord, owner_of
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.versioning.merge import merge_writes
from thoughtcycle.memory.versioning.record_writes import archive_writes, correct_writes

PAGE = 500


class RecordUpkeep:
    """Changes many of a user's memories in one commit; `undo` takes each change back."""

    def __init__(self, core: Core) -> None:
        self._core, self._clock = core, core.clock
        self._memories, self._users = core.storage.memories, core.storage.users

    async def pages(self, user: str, *, size: int = PAGE) -> AsyncIterator[list[MemoryRecord]]:
        """All active memories, the least recently changed first; one that changes meanwhile is left out."""
        rows = await self._memories.journal(owned(user), limit=1)
        last, after = rows[0].number if rows else 0, 0
        while after < last:
            page = await self._memories.listing(user, ["active"], after=after, limit=size)
            if unchanged := [record for record in page if record.revision <= last]:
                yield unchanged
            after = page[-1].revision if page else last

    async def users(self) -> list[str]:
        """All users with stored data: for the operator of the database, never for a user."""
        return sorted({owner_of(space) for space in await self._users.listing()})

    async def prioritise(
        self, user: str, priorities: Mapping[str, float], *, seen: Iterable[MemoryRecord] = ()
    ) -> int:
        """Sets the priorities (id → 1…10) of active memories, all or none; returns how many changed.

        `seen`: these memories as they were read; they are read again only if one has changed since.
        """
        read = self._reader(owned(user), list(priorities), seen)

        async def plan() -> tuple[Sequence[Write], None]:
            at = self._clock()
            return [
                Write(record.model_copy(update={"priority": priority}), "prioritise", at, before=record)
                for record in await read()
                if record.status == "active" and record.priority != (priority := priorities[record.id])
            ], None

        stored, _ = await self._core.change(user, plan)
        return len(stored)

    async def archive_all(
        self,
        user: str,
        ids: Sequence[str],
        still: Callable[[MemoryRecord], bool],
        *,
        seen: Iterable[MemoryRecord] = (),
    ) -> int:
        """Archives the active ones of these memories for which `still` says yes as they are now.

        Returns how many. One that was reinforced or pinned meanwhile stays. `seen` as in `prioritise`.
        """
        read = self._reader(owned(user), ids, seen)

        async def plan() -> tuple[Sequence[Write], None]:
            due = [record for record in await read() if record.status == "active" and still(record)]
            return archive_writes(due, at=self._clock(), cycle=None), None

        stored, _ = await self._core.change(user, plan)
        return len(stored)

    async def merge_all(
        self, user: str, pairs: Mapping[str, str], still: Callable[[MemoryRecord, MemoryRecord], bool]
    ) -> int:
        """Merges pairs (the one to end → the one to keep) as `Lifecycle.merge`; returns how many.

        A memory may be in one pair only. Pairs that are no longer active, or for which `still` says no as
        they are now, stay two.
        """
        ids = [*pairs, *pairs.values()]

        async def plan() -> tuple[Sequence[Write], int]:
            records = {record.id: record for record in await self._memories.records(user, ids)}
            due = [
                (kept, ended)
                for other, keep in pairs.items()
                if (kept := records.get(keep)) is not None
                and (ended := records.get(other)) is not None
                and kept.status == ended.status == "active"
                and still(kept, ended)
            ]
            keys = await self._core.search_vectors([record for pair in due for record in pair], {})
            former: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
            for version in await self._memories.versions(user, [ended.id for _, ended in due]):
                former[version.current or ""].append(version)
            at = self._clock()
            changes = [merge_writes(kept, ended, former[ended.id], keys, at, None) for kept, ended in due]
            return [write for writes in changes for write in writes], len(due)

        _, count = await self._core.change(owned(user), plan)
        return count

    async def condense(self, user: str, id: str, content: str, *, was: str) -> MemoryRecord:
        """Replaces the content of an active memory by a shorter one, in place; the journal keeps the longer.

        Nothing changes if the content is not `was` any more, or the memory was pinned. Its time of last use
        stays. Raises MemoryNotActive.
        """
        vectors = packed(await self._core.embed_to_save([content]))

        async def plan() -> tuple[Sequence[Write], MemoryRecord]:
            record = await self._core.active(user, id)
            if record.content != was or record.pinned:
                return (), record
            keys = await self._core.search_vectors([record], vectors)
            changed = record.model_copy(update={"content": content})
            (write,) = correct_writes(record, changed, keys, self._clock(), None, op="condense")
            unused = write.record.model_copy(update={"updated": record.updated})
            return [replace(write, record=unused)], record

        stored, before = await self._core.change(owned(user), plan)
        return stored.get(before.id, before)

    def _reader(
        self, user: str, ids: Sequence[str], seen: Iterable[MemoryRecord]
    ) -> Callable[[], Awaitable[list[MemoryRecord]]]:
        """Returns what was `seen` at the first call; reads these memories at later ones, after a conflict."""
        wanted = set(ids)
        known = [record for record in seen if record.id in wanted]

        async def read() -> list[MemoryRecord]:
            nonlocal known
            found, known = known, []
            return found or await self._memories.records(user, ids)

        return read
