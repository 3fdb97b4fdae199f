"""Caches of stored records and of live branches, each bounded, least recently used first out."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.storage import Memories, Transcript
from thoughtcycle.memory.versioning.branches import live_path

RECORDS = 5_000
"""Records kept, of all users together: some 4 KB each."""
BRANCHES = 8
"""Branches kept: some 1.5 MB per 10,000 cycles."""


class RecordCache:
    """Stored records, for callers who know the current revision of each. For one event loop."""

    def __init__(self, memories: Memories, most: int = RECORDS) -> None:
        self._memories, self._most = memories, most
        self._records: OrderedDict[tuple[str, str], MemoryRecord] = OrderedDict()

    async def records(self, space: str, revisions: Mapping[str, int]) -> dict[str, MemoryRecord]:
        """Records by id, as they are now; `revisions` are those of a moment ago."""
        found: dict[str, MemoryRecord] = {}
        missing: list[str] = []
        for id, revision in revisions.items():
            record = self._records.get(place := (space, id))
            if record is not None and record.revision == revision:
                self._records.move_to_end(place)
                found[id] = record
            else:
                missing.append(id)
        if missing:
            read = await self._memories.records(space, missing)
            self._keep(space, read)
            found |= {record.id: record for record in read}
        return found

    def changed(self, space: str, records: Iterable[MemoryRecord]) -> None:
        """Takes in records as they were just stored; of those only active ones are kept."""
        for record in records:
            self._records.pop((space, record.id), None)
            if record.status == "active":
                self._keep(space, (record,))

    def _keep(self, space: str, records: Iterable[MemoryRecord]) -> None:
        for record in records:
            if isinstance(record.content, str):  # anything else a caller might change in place
                self._records[space, record.id] = record
                self._records.move_to_end((space, record.id))
        while len(self._records) > self._most:
            self._records.popitem(last=False)


class BranchCache:
    """Branches by their tip; the path to a tip never changes. For one event loop."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._branches: OrderedDict[tuple[str, str, str], frozenset[str]] = OrderedDict()

    async def contains(self, user: str, chat: str, tip: str | None, cycle: str) -> bool:
        """Whether `cycle` is on the branch of the chat that ends with `tip`."""
        if tip is None or cycle == tip:
            return cycle == tip
        name = (user, chat, tip)
        if name not in self._branches:
            self._branches[name] = frozenset(live_path(await self._transcript.links(user, [chat]), tip))
        self._branches.move_to_end(name)
        while len(self._branches) > BRANCHES:
            self._branches.popitem(last=False)
        return cycle in self._branches[name]
