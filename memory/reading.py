"""Documents read lately: one that did not change since is not read again."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.memory.storage.base import Storage

MOST = 2_000
"""Documents kept, of all users together: some 2 KB each."""


class Reading:
    """The storage's documents, for callers who know which revision is the present one. For one event loop."""

    def __init__(self, storage: Storage, most: int = MOST) -> None:
        self._storage, self._most = storage, most
        self._lately: OrderedDict[tuple[str, str], MemoryRecord] = OrderedDict()

    async def records(self, space: str, wanted: Mapping[str, int]) -> dict[str, MemoryRecord]:
        """Documents by id, as they are now; `wanted` gives the revisions as of a moment ago."""
        known = {id: record for id in wanted if (record := self._lately.get((space, id))) is not None}
        found = {id: record for id, record in known.items() if record.revision == wanted[id]}
        if missing := [id for id in wanted if id not in found]:
            found |= {record.id: record for record in await self._storage.records(space, missing)}
        self._keep(space, found.values())
        return found

    def forget(self, space: str, ids: Iterable[str]) -> None:
        """Lets go of documents that have changed."""
        for id in ids:
            self._lately.pop((space, id), None)

    def _keep(self, space: str, records: Iterable[MemoryRecord]) -> None:
        for record in records:
            if isinstance(record.content, str):  # anything else a caller might change in place
                self._lately[space, record.id] = record
                self._lately.move_to_end((space, record.id))
        while len(self._lately) > self._most:
            self._lately.popitem(last=False)
