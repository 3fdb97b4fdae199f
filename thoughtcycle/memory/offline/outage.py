"""Keeps turns running while the database is away: writes wait in the spool and are replayed later."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from thoughtcycle.errors import StorageFailed, StorageFull, StorageLocked, StorageUnavailable
from thoughtcycle.memory.conversation import Conversations
from thoughtcycle.memory.core import Availability, Core, owned
from thoughtcycle.memory.index import Embedder
from thoughtcycle.memory.model import Cycle, CycleMessage, Step
from thoughtcycle.memory.offline import intents
from thoughtcycle.memory.offline.intents import Intent
from thoughtcycle.memory.offline.replay import Replay
from thoughtcycle.memory.offline.spool import Spool, database_name
from thoughtcycle.memory.storage import Storage, open_storage, parse_url
from thoughtcycle.memory.transcript import Transcript
from thoughtcycle.memory.versioning.cycle_transitions import new_cycle

log = logging.getLogger(__name__)

FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
"""Seconds between tries: 1, 2, 4 … 60 (CM-8)."""
_CANCEL_SECONDS = 6.0
"""Longest wait at shutdown for a try under way: not every driver stops at once."""
_PROBE_SECONDS = 1.0
"""Longest wait of a turn or a change during an outage for the database to come back."""
TRANSIENT = (StorageUnavailable, StorageLocked, StorageFull)
"""Failures that end by themselves: the database is away, in use by another, or has no space."""

T = TypeVar("T")


class Outage(Availability):
    """The availability of a database with a spool; retries with exponential backoff while writes wait."""

    def __init__(self, spool: Spool, url: str, storage: Storage, embeddings: Embedder | None) -> None:
        """`url` is the database's, `storage` the connection on which turns read and write."""
        self._spool, self._url, self._storage, self._embeddings = spool, url, storage, embeddings
        self._lock = asyncio.Lock()
        self._notified: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._probe: asyncio.Future[bool] | None = None
        self._ending = False

    @property
    def waiting(self) -> bool:
        return self._spool.pending

    @classmethod
    @asynccontextmanager
    async def spooled(
        cls, url: str, storage: Storage, embeddings: Embedder | None, folder: Path, limit: int
    ) -> AsyncIterator[Self]:
        """Opens a spool of at most `limit` bytes in `folder`, and first replays the writes left in it.

        Raises StorageUnusable when the spool cannot be read.
        """
        outage = cls(Spool(folder, database_name(url), limit), url, storage, embeddings)
        await outage._spool.open()
        try:
            if outage.waiting:
                await outage.arrive()
            yield outage
        finally:
            outage._ending = True
            if outage._task is not None:
                outage._task.cancel()
                await asyncio.wait({outage._task}, timeout=_CANCEL_SECONDS)
            if outage.waiting:
                await outage.arrive()
            await outage._spool.close()

    def survives(self, failure: StorageFailed) -> bool:
        if not isinstance(failure, TRANSIENT):
            return False
        log.warning("the database is away, cycles wait: %s", failure.code)
        self.unreadable = self.unreadable or isinstance(failure, StorageUnavailable)
        self._begin_trying()
        return True

    @property
    def under_way(self) -> bool:
        """Whether new writes have to wait in the spool."""
        return self.waiting or self.unreadable

    def tell(self, user: str) -> bool:
        if not self.under_way or user in self._notified:
            return False
        self._notified.add(user)
        return True

    async def over(self) -> bool:
        """Whether the database is back and the spool is empty; waits for a moment."""
        if self.under_way:
            if self._probe is None or self._probe.done():
                self._probe = asyncio.ensure_future(self.arrive())
            await asyncio.wait({self._probe}, timeout=_PROBE_SECONDS)
        return not self.under_way

    async def put(self, intent: Intent, *, begins: bool = False) -> None:
        """Spools a write; `begins`: it opens a turn. Raises StorageFailed as `Spool.put`."""
        await self._spool.put(intent, begins=begins)
        self._begin_trying()

    async def arrive(self) -> bool:
        """Replays the spool; whether the database is back and the spool is empty."""
        async with self._lock:
            try:
                async with self._own_connection() as storage:
                    replay = Replay(storage, embeddings=self._embeddings)
                    while (intent := self._spool.oldest()) is not None:
                        await replay.carry_out(intent)
                        await self._spool.remove_oldest()
            except StorageFailed as failure:
                log.warning("the database is still away, cycles wait: %s", failure.code)
                return False
            self.unreadable = False
            self._notified.clear()
            return True

    @asynccontextmanager
    async def _own_connection(self) -> AsyncIterator[Storage]:
        """A connection that blocks no turn: a SQLite connection does one thing at a time."""
        if parse_url(self._url).path is None:
            await self._storage.chats.owner("")  # raises while the server is away
            yield self._storage
        else:
            async with open_storage(self._url) as storage:
                yield storage

    def _begin_trying(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._recover())

    async def _recover(self) -> None:
        """Retries until the spool is empty, with exponential backoff."""
        delay = FIRST_DELAY
        while not self._ending:
            await asyncio.sleep(delay)
            if await self.arrive():
                return
            delay = min(delay * 2, LONGEST_DELAY)


class SpooledTranscript(Transcript):
    """A transcript whose writes are spooled during an outage and acknowledged as if they were stored.

    While anything waits, everything new waits behind it. Raises StorageFailed, and stores nothing, when the
    spool or its disk is full.
    """

    def __init__(self, core: Core, conversations: Conversations, outage: Outage) -> None:
        super().__init__(core, conversations)
        self._outage = outage

    async def keep_message(self, user: str, chat: str, message: CycleMessage, *, channel: str) -> None:
        """Spools a message whose turn could not begin; replay skips it if the transcript has it already."""
        now = self._clock()
        cycle = new_cycle(owned(user), chat, message, parent=None, channel=channel, at=now, late=True)
        intent = intents.OpenCycle(user=user, at=now, cycle=cycle, follow=True, once=True)
        await self._outage.put(intent, begins=True)

    async def open_cycle(
        self,
        user: str,
        chat: str,
        message: CycleMessage,
        *,
        parent: str | None,
        channel: str,
        follow: bool = False,
    ) -> Cycle:
        """See Transcript.open_cycle."""
        at = self._clock()
        late = new_cycle(owned(user), chat, message, parent=parent, channel=channel, at=at, late=True)
        await self._outage.over()
        write = super().open_cycle
        stored = await self._write_or_spool(
            lambda: write(user, chat, message, parent=parent, channel=channel, follow=follow),
            lambda: intents.OpenCycle(user=user, at=at, cycle=late, follow=follow),
            begins=True,
        )
        return stored or late

    async def append(
        self, user: str, cycle_id: str, execution: str, step: Step, text: CycleMessage | None
    ) -> None:
        """See Transcript.append."""
        at, write = self._clock(), super().append
        args: dict[str, Any] = {"execution": execution, "step": step, "text": text}
        await self._write_or_spool(
            lambda: write(user, cycle_id, **args),
            lambda: intents.Append(user=owned(user), at=at, cycle=cycle_id, **args),
        )

    async def close_cycle(
        self,
        user: str,
        cycle_id: str,
        *,
        execution: str,
        messages: Sequence[CycleMessage],
        steps: Sequence[Step],
        cut: bool = False,
        formation: Literal["none", "pending"] = "pending",
        shown: Sequence[str] = (),
    ) -> Cycle | None:
        """See Transcript.close_cycle; None if it waits in the spool."""
        at, write = self._clock(), super().close_cycle
        args: dict[str, Any] = {
            "execution": execution,
            "messages": tuple(messages),
            "steps": tuple(steps),
            "cut": cut,
            "formation": formation,
            "shown": tuple(shown),
        }
        return await self._write_or_spool(
            lambda: write(user, cycle_id, **args),
            lambda: intents.CloseCycle(user=owned(user), at=at, cycle=cycle_id, **args),
        )

    async def _write_or_spool(
        self, write: Callable[[], Awaitable[T]], intent: Callable[[], Intent], *, begins: bool = False
    ) -> T | None:
        """The result of `write`; None if the database is away and `intent` was spooled instead."""
        if not self._outage.under_way:
            try:
                return await write()
            except StorageFailed as failure:
                if not self._outage.survives(failure):
                    raise
        await self._outage.put(intent(), begins=begins)
        return None
