"""Documents read lately: one that did not change since is not read again."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.memory.storage.base import Storage

MOST = 5_000
"""Documents kept, of all users together: some 4 KB each."""


class Reading:
    """The storage's documents, for callers who know which revision is the present one. For one event loop."""

    def __init__(self, storage: Storage, most: int = MOST) -> None:
        self._storage, self._most = storage, most
        self._lately: OrderedDict[tuple[str, str], MemoryRecord] = OrderedDict()

    async def records(self, space: str, wanted: Mapping[str, int]) -> dict[str, MemoryRecord]:
        """Documents by id, as they are now; `wanted` gives the revisions as of a moment ago."""
        found = self._known(space, wanted)
        if missing := [id for id in wanted if id not in found]:
            found |= {record.id: record for record in await self._storage.records(space, missing)}
        self._keep(space, found.values())
        return found

    def changed(self, space: str, records: Iterable[MemoryRecord]) -> None:
        """Takes documents as they were stored just now; of what is out of sight nothing is kept."""
        for record in records:
            self._lately.pop((space, record.id), None)
            if record.status == "active":
                self._keep(space, (record,))

    def _known(self, space: str, wanted: Mapping[str, int]) -> dict[str, MemoryRecord]:
        known = {id: record for id in wanted if (record := self._lately.get((space, id))) is not None}
        return {id: record for id, record in known.items() if record.revision == wanted[id]}

    def _keep(self, space: str, records: Iterable[MemoryRecord]) -> None:
        for record in records:
            if isinstance(record.content, str):  # anything else a caller might change in place
                self._lately[space, record.id] = record
                self._lately.move_to_end((space, record.id))
        while len(self._lately) > self._most:
            self._lately.popitem(last=False)
