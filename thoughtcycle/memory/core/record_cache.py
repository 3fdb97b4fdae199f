"""Documents read lately: one that did not change since is not read again."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.storage import Memories

MOST = 5_000
"""Documents kept, of all users together: some 4 KB each."""


class Reading:
    """The storage's documents, for callers who know which revision is the present one. For one event loop."""

    def __init__(self, memories: Memories, most: int = MOST) -> None:
        self._memories, self._most = memories, most
        self._lately: OrderedDict[tuple[str, str], MemoryRecord] = OrderedDict()

    async def records(self, space: str, wanted: Mapping[str, int]) -> dict[str, MemoryRecord]:
        """Documents by id, as they are now; `wanted` gives the revisions as of a moment ago."""
        found: dict[str, MemoryRecord] = {}
        missing: list[str] = []
        for id, revision in wanted.items():
            record = self._lately.get(place := (space, id))
            if record is not None and record.revision == revision:
                self._lately.move_to_end(place)
                found[id] = record
            else:
                missing.append(id)
        if missing:
            read = await self._memories.records(space, missing)
            self._keep(space, read)
            found |= {record.id: record for record in read}
        return found

    def changed(self, space: str, records: Iterable[MemoryRecord]) -> None:
        """Takes documents as they were stored just now; of what is out of sight nothing is kept."""
        for record in records:
            self._lately.pop((space, record.id), None)
            if record.status == "active":
                self._keep(space, (record,))

    def _keep(self, space: str, records: Iterable[MemoryRecord]) -> None:
        for record in records:
            if isinstance(record.content, str):  # anything else a caller might change in place
                self._lately[space, record.id] = record
                self._lately.move_to_end((space, record.id))
        while len(self._lately) > self._most:
            self._lately.popitem(last=False)
