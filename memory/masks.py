"""The masks in use: what each user's hidden memories take out of what was said."""

from collections import OrderedDict
from collections.abc import Mapping

from thoughtcycle.memory.branches import REASON
from thoughtcycle.memory.erasure import Trace, trace
from thoughtcycle.memory.masking import Mask
from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.memory.spaces import Spaces
from thoughtcycle.memory.storage.base import Storage

ERASING = "erasing"
"""Reason of a hidden memory that is being erased for good: nothing brings it back."""
MOST_USERS, MOST_TRACES = 64, 2_000


def out_of_sight(hidden: Mapping[str, str | None]) -> frozenset[str]:
    """Of hidden memories (id → reason) those whose words nobody shall read: no abandoned or undone ones."""
    return frozenset(id for id, reason in hidden.items() if reason not in (REASON, "undone"))


class Masks:
    """One mask per user, made anew when something changed. For one event loop."""

    def __init__(self, storage: Storage, spaces: Spaces) -> None:
        """`spaces` know which memories are hidden."""
        self._storage, self._spaces = storage, spaces
        self._users: OrderedDict[str, tuple[tuple[int, frozenset[str]], Mask]] = OrderedDict()
        self._traces: OrderedDict[tuple[str, int], Trace] = OrderedDict()

    async def of(self, user: str) -> Mask:
        """The mask of what the user has had taken out of sight."""
        async with self._spaces.index(user) as index:
            state = (index.number, out_of_sight(index.hidden))
        known = self._users.get(user)
        if known is not None and known[0] == state:
            return known[1]
        records = await self._storage.records(user, sorted(state[1])) if state[1] else []
        made = Mask(tuple(self._trace(one) for one in records if one.status == "hidden"))
        self._users[user] = (state, made)
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
