"""The masks in use: what each user's hidden memories take out of what was said."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from thoughtcycle.memory.erasure import Trace, trace
from thoughtcycle.memory.masking import NOTHING, Mask
from thoughtcycle.memory.records import MemoryRecord, Status
from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.memory.storage.documents import LEFT_OUT

ERASING = "erasing"
"""Reason of a hidden memory that is being erased for good: nothing brings it back."""
_HIDDEN: tuple[Status, ...] = ("hidden",)
MOST_USERS, MOST_TRACES = 64, 2_000


def out_of_sight(hidden: Mapping[str, str | None]) -> frozenset[str]:
    """Of hidden memories (id → reason) those whose words nobody shall read: no abandoned or undone ones."""
    return frozenset(id for id, reason in hidden.items() if reason not in LEFT_OUT)


class Masks:
    """One mask per user, made anew when something changed. For one event loop."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._users: OrderedDict[str, Mask] = OrderedDict()
        self._traces: OrderedDict[tuple[str, int], Trace] = OrderedDict()

    async def of(self, user: str) -> Mask:
        """The mask of what the user has had taken out of sight.

        Reads the hidden memories, not the index: whoever only wants a conversation waits for no index.
        """
        return self._made(user, await self._hidden(user))

    async def final(self, user: str) -> Mask:
        """Of that what is being erased for good."""
        hidden = await self._hidden(user)
        ids = {record.id for record in hidden if record.reason == ERASING}
        return self._made(user, hidden).only(ids) if ids else NOTHING

    async def _hidden(self, user: str) -> list[MemoryRecord]:
        found = await self._storage.listing(user, _HIDDEN, limit=None, offset=0)
        seen = out_of_sight({record.id: record.reason for record in found})
        return [record for record in found if record.id in seen]

    def _made(self, user: str, records: Sequence[MemoryRecord]) -> Mask:
        if not records:
            self._users.pop(user, None)
            return NOTHING
        made = Mask(tuple(map(self._trace, records)))
        known = self._users.get(user)
        if known is not None and _same(known, made):
            return known
        self._users[user] = made
        self._users.move_to_end(user)
        while len(self._users) > MOST_USERS:
            self._users.popitem(last=False)
        return made

    def _trace(self, record: MemoryRecord) -> Trace:
        place = (record.id, record.revision)
        if place not in self._traces:
            self._traces[place] = trace(record, until=record.updated)
            while len(self._traces) > MOST_TRACES:
                self._traces.popitem(last=False)
        return self._traces[place]


def _same(one: Mask, other: Mask) -> bool:
    """Whether both were made of the same traces; comparing what these hold would take longer."""
    if len(one.traces) != len(other.traces):
        return False
    return all(mine is its for mine, its in zip(one.traces, other.traces, strict=True))
