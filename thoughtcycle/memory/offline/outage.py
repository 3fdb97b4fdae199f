"""Outlives the absence of the database: what is said waits in the spool meanwhile, and arrives once."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

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
from thoughtcycle.memory.versioning import begun_at

log = logging.getLogger(__name__)

FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
"""Seconds between tries: 1, 2, 4 … 60 (CM-8)."""
_END_SECONDS = 6.0
_LOOK_SECONDS = 1.0
"""How long a turn or a change that begins during an outage waits to see whether it is over."""
PASSING = (StorageUnavailable, StorageLocked, StorageFull)
"""Failures that end by themselves: the database is away, in use by another, or has no space."""

T = TypeVar("T")


class Outage(Availability):
    """The state of one database with a spool; while something waits it is tried again and again."""

    def __init__(self, spool: Spool, url: str, storage: Storage, embeddings: Embedder | None) -> None:
        """`url` is the database's, `storage` the connection on which turns read and write."""
        self._spool, self._url, self._storage, self._embeddings = spool, url, storage, embeddings
        self._trying = asyncio.Lock()
        self._told: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._looking: asyncio.Future[bool] | None = None
        self._ending = False

    @property
    def waiting(self) -> bool:
        return self._spool.pending

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Uses the spool; what waits in it arrives first, if it can."""
        await self._spool.open()
        try:
            if self.waiting:
                await self.arrive()
            yield
        finally:
            self._ending = True
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=_END_SECONDS)  # not every driver lets go at once
            if self.waiting:
                await self.arrive()
            await self._spool.close()

    def survives(self, failure: StorageFailed) -> bool:
        if not isinstance(failure, PASSING):
            return False
        log.warning("the database is away, cycles wait: %s", failure.code)
        self.unreadable = self.unreadable or isinstance(failure, StorageUnavailable)
        self._begin_trying()
        return True

    @property
    def under_way(self) -> bool:
        """Whether new writes have to wait."""
        return self.waiting or self.unreadable

    def tell(self, user: str) -> bool:
        if not self.under_way or user in self._told:
            return False
        self._told.add(user)
        return True

    async def over(self) -> bool:
        """Whether the database is back, and everything that waited has arrived; looks for a moment."""
        if self.under_way:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.ensure_future(self.arrive())
            await asyncio.wait({self._looking}, timeout=_LOOK_SECONDS)
        return not self.under_way

    async def put(self, intent: Intent, *, begins: bool = False) -> None:
        """Has a write wait; `begins`: it opens a turn. Raises StorageFailed as `Spool.put`."""
        await self._spool.put(intent, begins=begins)
        self._begin_trying()

    async def arrive(self) -> bool:
        """Carries out what waits; whether the database is back and nothing waits any more."""
        async with self._trying:
            try:
                async with self._own_connection() as storage:
                    replay = Replay(storage, embeddings=self._embeddings)
                    while (intent := self._spool.oldest()) is not None:
                        await replay.carry_out(intent)
                        await self._spool.arrived()
            except StorageFailed as failure:
                log.warning("the database is still away, cycles wait: %s", failure.code)
                return False
            self.unreadable = False
            self._told.clear()
            return True

    @asynccontextmanager
    async def _own_connection(self) -> AsyncIterator[Storage]:
        """One that no turn waits behind: a SQLite connection does one thing at a time."""
        if parse_url(self._url).path is None:
            await self._storage.chats.owner("")  # asks whether the server is there
            yield self._storage
        else:
            async with open_storage(self._url) as storage:
                yield storage

    def _begin_trying(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._recover())

    async def _recover(self) -> None:
        """Tries until everything has arrived, less and less often."""
        delay = FIRST_DELAY
        while not self._ending:
            await asyncio.sleep(delay)
            if await self.arrive():
                return
            delay = min(delay * 2, LONGEST_DELAY)


class SpooledTranscript(Transcript):
    """A transcript whose writes wait while they meet an outage, and are answered as if they were stored.

    While anything waits, everything new waits behind it. With the spool full, or the disk below it,
    StorageFailed tells that nothing was kept.
    """

    def __init__(self, core: Core, conversations: Conversations, outage: Outage) -> None:
        super().__init__(core, conversations)
        self._outage = outage

    async def keep_message(self, user: str, chat: str, message: CycleMessage, *, channel: str) -> None:
        """Keeps a message whose turn could not begin; the transcript gets it if it has it not."""
        now = self._clock()
        cycle = begun_at(owned(user), chat, message, parent=None, channel=channel, at=now, late=True)
        kept = intents.OpenCycle(user=user, at=now, cycle=cycle, follow=True, once=True)
        await self._outage.put(kept, begins=True)

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
        late = begun_at(owned(user), chat, message, parent=parent, channel=channel, at=at, late=True)
        await self._outage.over()
        stored = await self._either(
            lambda: Transcript.open_cycle(
                self, user, chat, message, parent=parent, channel=channel, follow=follow
            ),
            lambda: intents.OpenCycle(user=user, at=at, cycle=late, follow=follow),
            begins=True,
        )
        return stored or late

    async def append(
        self, user: str, cycle_id: str, execution: str, step: Step, text: CycleMessage | None
    ) -> None:
        """See Transcript.append."""
        at = self._clock()
        await self._either(
            lambda: Transcript.append(self, user, cycle_id, execution, step, text),
            lambda: intents.Append(
                user=owned(user), at=at, cycle=cycle_id, execution=execution, step=step, text=text
            ),
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
        """See Transcript.close_cycle; None where it waits."""
        at = self._clock()
        args: dict[str, Any] = {
            "execution": execution,
            "messages": tuple(messages),
            "steps": tuple(steps),
            "cut": cut,
            "formation": formation,
            "shown": tuple(shown),
        }
        return await self._either(
            lambda: Transcript.close_cycle(self, user, cycle_id, **args),
            lambda: intents.CloseCycle(user=owned(user), at=at, cycle=cycle_id, **args),
        )

    async def _either(
        self, write: Callable[[], Awaitable[T]], waits: Callable[[], Intent], *, begins: bool = False
    ) -> T | None:
        """`write`; None where what `waits` gives is in the spool, since the database is away."""
        if not self._outage.under_way:
            try:
                return await write()
            except StorageFailed as failure:
                if not self._outage.survives(failure):
                    raise
        await self._outage.put(waits(), begins=begins)
        return None


@asynccontextmanager
async def spooled(
    url: str, storage: Storage, embeddings: Embedder | None, folder: Path, limit: int
) -> AsyncIterator[Outage]:
    """Uses a spool of at most `limit` bytes in `folder` for the database that `url` names.

    Raises StorageUnusable when what was left in it cannot be read.
    """
    outage = Outage(Spool(folder, database_name(url), limit), url, storage, embeddings)
    async with outage.opened():
        yield outage
