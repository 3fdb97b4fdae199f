"""The masks in use: what each user's hidden memories take out of what was said."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from thoughtcycle.memory.buried import Buried
from thoughtcycle.memory.erasure import Trace, trace
from thoughtcycle.memory.masking import NOTHING, Mask
from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.memory.storage.documents import LEFT_OUT
from thoughtcycle.memory.tombstones import KEY_BYTES

ERASING = "erasing"
"""Reason of a hidden memory that is being erased for good: nothing brings it back."""
MOST_USERS, MOST_TRACES = 64, 2_000
CLOCKS = timedelta(minutes=1)
"""By how much the clocks of two machines, or the beginning of a turn and its first read, may differ."""


def out_of_sight(hidden: Mapping[str, str | None]) -> frozenset[str]:
    """Of hidden memories (id → reason) those whose words nobody shall read: no abandoned or undone ones."""
    return frozenset(id for id, reason in hidden.items() if reason not in LEFT_OUT)


class Masks:
    """One mask per user, made anew when something changed. For one event loop."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._users: OrderedDict[str, _Known] = OrderedDict()
        self._traces: OrderedDict[tuple[str, int], Trace] = OrderedDict()

    async def of(self, user: str) -> Mask:
        """The mask of what the user has had taken out of sight.

        Reads the hidden memories, not the index: whoever only wants a conversation waits for no index.
        While nothing changed it reads only the last row of the journal.
        """
        return (await self._known(user)).mask

    async def final(self, user: str) -> Mask:
        """Of that what is being erased for good."""
        return (await self._known(user)).final

    async def since(self, user: str, at: datetime) -> Mask | None:
        """What was erased since `at`, or is being erased; None where the user was forgotten since."""
        earliest = at - CLOCKS
        rows = await self._storage.journal(user, limit=1)
        if rows and rows[0].at < earliest:
            return NOTHING
        forgotten = await self._storage.forgotten(user)
        if forgotten is not None and at <= forgotten:
            return None
        final = await self.final(user)  # before the tombstones: what is emptied meanwhile has one
        stones = tuple(one for one in await self._storage.tombstones(user) if earliest <= one.at)
        if not stones:
            return final
        secret = await self._storage.secret(user, secrets.token_bytes(KEY_BYTES))
        return Buried(final.traces, stones, secret)

    async def _known(self, user: str) -> "_Known":
        rows = await self._storage.journal(user, limit=1)  # first: what comes later is looked at again
        last = tuple((row.number, row.at, row.memory) for row in rows)
        known = self._users.get(user)
        if known is None or known.last != last:
            records = await self._storage.hidden(user)
            traces = tuple([await self._trace(user, record) for record in records])
            made = Mask(traces) if traces else NOTHING
            if known is not None and _same(known.mask, made):
                made = known.mask
            erasing = {record.id for record in records if record.reason == ERASING}
            known = _Known(last, made, made.only(erasing) if erasing else NOTHING)
            self._users[user] = known
        self._users.move_to_end(user)
        while len(self._users) > MOST_USERS:
            self._users.popitem(last=False)
        return known

    async def _trace(self, user: str, record: MemoryRecord) -> Trace:
        place = (record.id, record.revision)
        known = self._traces.get(place)
        if known is None:
            rows = await self._storage.journal(user, memory=record.id)
            former = [row.before for row in rows if row.before is not None]  # what was corrected goes too
            asked = [row.cycle for row in rows if row.op == "hide" and row.cycle is not None]
            known = await asyncio.to_thread(
                trace, record, until=record.updated, former=former, requests=asked
            )
            self._traces[place] = known
            while len(self._traces) > MOST_TRACES:
                self._traces.popitem(last=False)
        return known


class _Known(NamedTuple):
    """What was made of a user's hidden memories."""

    last: tuple[tuple[int, datetime, str], ...]
    """The journal's last row then, if it had any: number, time, memory."""
    mask: Mask
    final: Mask


def _same(one: Mask, other: Mask) -> bool:
    """Whether both were made of the same traces; comparing what these hold would take longer."""
    if len(one.traces) != len(other.traces):
        return False
    return all(mine is its for mine, its in zip(one.traces, other.traces, strict=True))
