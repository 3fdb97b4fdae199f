"""The masks in use: what each user's hidden memories take out of what was said."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from thoughtcycle.memory.model import MemoryRecord, Tombstone
from thoughtcycle.memory.redaction.fingerprint import Trace, trace
from thoughtcycle.memory.redaction.redactor import NOTHING, Mask
from thoughtcycle.memory.redaction.tombstone_redactor import Buried
from thoughtcycle.memory.redaction.tombstones import KEY_BYTES
from thoughtcycle.memory.storage import Storage

ERASING = "erasing"
"""Reason of a hidden memory that is being erased for good: nothing brings it back."""
MOST_USERS, MOST_TRACES = 64, 2_000
CLOCKS = timedelta(minutes=1)
"""By how much the clocks of two machines, or the beginning of a turn and its first read, may differ."""


class Masks:
    """One mask per user, made anew when something changed. For one event loop."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._users: OrderedDict[str, _Known] = OrderedDict()
        self._looks: dict[str, asyncio.Task[_Known]] = {}
        self._traces: OrderedDict[tuple[str, int], Trace] = OrderedDict()
        self._stones: OrderedDict[str, tuple[_Last, Sequence[Tombstone], bytes]] = OrderedDict()

    async def of(self, user: str) -> Mask:
        """The mask of what the user has had taken out of sight.

        Reads the hidden memories, not the index: whoever only wants a conversation waits for no index.
        While nothing changed it reads only the last row of the journal.
        """
        return (await self._known(user)).mask

    async def final(self, user: str) -> Mask:
        """The part of it that is being erased for good."""
        return (await self._known(user)).final

    async def since(self, user: str, at: datetime) -> Mask | None:
        """The mask of memories erased since `at`, or being; None where the user was forgotten since."""
        glimpse = self._storage.glimpse(user)
        last, forgotten = glimpse.pulse if glimpse is not None else await self._storage.users.pulse(user)
        known = self._users.get(user)
        if known is None or known.last != last:
            known = await self._known(user)
            forgotten = await self._storage.users.forgotten(user)  # after: else it may be emptied meanwhile
        if forgotten is not None and at <= forgotten:
            return None
        stones, secret = await self._buried(user, known.last)
        late = tuple(one for one in stones if at - CLOCKS <= one.at)
        return Buried(known.final.traces, late, secret) if late else known.final

    async def _buried(self, user: str, last: "_Last") -> "tuple[Sequence[Tombstone], bytes]":
        """The user's tombstones, and the key to them; those of an erasure that goes on may be missing."""
        known = self._stones.get(user)
        if known is None or known[0] != last:
            stones = await self._storage.erasure.tombstones(user)
            secret = (
                await self._storage.erasure.secret(user, secrets.token_bytes(KEY_BYTES)) if stones else b""
            )
            self._stones[user] = known = (last, stones, secret)
        self._stones.move_to_end(user)
        while len(self._stones) > MOST_USERS:
            self._stones.popitem(last=False)
        return known[1:]

    async def _known(self, user: str) -> "_Known":
        """The user's hidden memories now; concurrent callers share one read."""
        glimpse, known = self._storage.glimpse(user), self._users.get(user)
        if glimpse is not None and known is not None and glimpse.pulse.last == known.last:
            self._users.move_to_end(user)
            return known
        look = self._looks.get(user)
        if look is None:
            look = self._looks[user] = asyncio.create_task(self._look(user))
        return await asyncio.shield(look)

    async def _look(self, user: str) -> "_Known":
        del self._looks[user]  # whoever asks from now on may have seen a later change
        rows = await self._storage.memories.journal(
            user, limit=1
        )  # first: what comes later is looked at again
        last = tuple((row.number, row.at, row.memory) for row in rows)
        known = self._users.get(user)
        if known is None or known.last != last:
            records = await self._storage.erasure.hidden(user)
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
            rows = await self._storage.memories.journal(user, memories=[record.id])
            former = [row.before for row in rows if row.before is not None]  # what was corrected goes too
            asked = [row.cycle for row in rows if row.op == "hide" and row.cycle is not None]
            known = await asyncio.to_thread(
                trace, record, until=record.updated, former=former, requests=asked
            )
            self._traces[place] = known
            while len(self._traces) > MOST_TRACES:
                self._traces.popitem(last=False)
        return known


_Last = tuple[tuple[int, datetime, str], ...]
"""The journal's last row, if it has any: number, time, memory."""


class _Known(NamedTuple):
    """The masks built of a user's hidden memories."""

    last: _Last
    """As it was then."""
    mask: Mask
    final: Mask


def _same(one: Mask, other: Mask) -> bool:
    """Whether both were made of the same traces; comparing what these hold would take longer."""
    if len(one.traces) != len(other.traces):
        return False
    return all(mine is its for mine, its in zip(one.traces, other.traces, strict=True))
