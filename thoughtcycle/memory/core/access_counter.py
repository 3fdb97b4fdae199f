"""How often memories were found, and when last (LM-9): counted here, written behind."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from thoughtcycle.errors import StorageFailed
from thoughtcycle.memory.model import Access
from thoughtcycle.memory.storage import Memories

log = logging.getLogger(__name__)

PAUSE_SECONDS = 2.0
"""How long counts gather before they are written together."""
MOST = 10_000
"""Memories whose counts may wait, of all users together; while the database is away, more are not counted."""

_CACHED = 20_000
"""Counts that are cached, of all users together."""

_Count = tuple[int, datetime]
"""An Access as a plain tuple: a search makes one for each memory that it finds."""


class AccessCounter:
    """Counts that wait to be added to the stored ones. For one event loop."""

    def __init__(self, memories: Memories, *, pause: float = PAUSE_SECONDS, most: int = MOST) -> None:
        self._memories, self._pause, self._most = memories, pause, most
        self._waiting: dict[str, dict[str, _Count]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        """Counts read lately, kept up to date."""
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._lock = asyncio.Lock()

    def note(self, user: str, ids: Iterable[str], at: datetime) -> None:
        """Counts one access of each of the user's memories; they are written within a few seconds."""
        known = self._waiting.get(user, {})
        room = sum(map(len, self._waiting.values())) < self._most
        if not (new := {id: (1, at) for id in ids if room or id in known}):
            return
        self._add(user, new)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._behind())

    async def about(self, user: str, ids: Sequence[str]) -> dict[str, int]:
        """About how often these memories were found: other processes' searches are seen late."""
        missing = [id for id in ids if (user, id) not in self._counts]
        found = await self._memories.accesses(user, missing) if missing else {}
        if len(self._counts) + len(missing) > _CACHED:
            self._counts.clear()
        self._counts |= {(user, id): found[id].count if id in found else 0 for id in missing}
        return {id: self._counts.get((user, id), 0) for id in ids}

    async def read(self, user: str, ids: Sequence[str]) -> dict[str, Access]:
        """The counts of these memories, what waits included; memories never found are left out."""
        async with self._lock:
            found = await self._memories.accesses(user, ids)
            waiting = self._waiting.get(user, {})
            stored = {id: (access.count, access.last) for id, access in found.items()}
            return found | _accesses({id: _sum(stored.get(id), waiting[id]) for id in ids if id in waiting})

    async def flush(self) -> bool:
        """Writes what waits; False when the database refused some, which is logged and waits on."""
        async with self._lock:
            taken, self._waiting = self._waiting, {}
            done = True
            for user, counts in taken.items():
                try:
                    await self._memories.touch(user, _accesses(counts))
                except StorageFailed as failure:
                    log.warning("the access counts of %d memories wait: %s", len(counts), failure.code)
                    self._add(user, counts)
                    done = False
            return done

    async def close(self) -> None:
        """Writes what waits and stops."""
        self._closing.set()
        if self._task is not None:
            await self._task
        await self.flush()

    async def _behind(self) -> None:
        """Until nothing waits, or the database refuses: then the next access starts it again."""
        while self._waiting and not self._closing.is_set():
            try:
                await asyncio.wait_for(self._closing.wait(), self._pause)
            except TimeoutError:
                if not await self.flush():
                    return

    def _add(self, user: str, counts: Mapping[str, _Count]) -> None:
        waiting = self._waiting.setdefault(user, {})
        for id, access in counts.items():
            waiting[id] = _sum(waiting.get(id), access)


def _sum(known: _Count | None, more: _Count) -> _Count:
    """Both counts together, and the later of the two times."""
    return more if known is None else (known[0] + more[0], max(known[1], more[1]))


def _accesses(counts: Mapping[str, _Count]) -> dict[str, Access]:
    return {id: Access(count=count, last=last) for id, (count, last) in counts.items()}
