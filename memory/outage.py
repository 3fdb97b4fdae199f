"""A memory that survives the absence of its database: what it shall write waits in the spool meanwhile."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from thoughtcycle.memory import embedder, intents
from thoughtcycle.memory.changes import Keys, SavePlan, named, search_keys
from thoughtcycle.memory.cycle_changes import begun_at
from thoughtcycle.memory.embedder import Embedder
from thoughtcycle.memory.engine import owned, readable
from thoughtcycle.memory.facets import aware
from thoughtcycle.memory.formed import UserSettings
from thoughtcycle.memory.intents import Intent
from thoughtcycle.memory.memory import Memory, Records
from thoughtcycle.memory.records import (
    Cycle,
    CycleMessage,
    MemoryDraft,
    MemoryRecord,
    Saved,
    Step,
    utc_now,
)
from thoughtcycle.memory.replay import Replay
from thoughtcycle.memory.sheets import Sheets
from thoughtcycle.memory.shelf import BUDGET
from thoughtcycle.memory.spool import SPOOL_BYTES, Spool, database_name
from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.memory.storage.factory import open_storage
from thoughtcycle.memory.storage.url import parse_url
from thoughtcycle.prompts.errors import StorageFailed

log = logging.getLogger(__name__)

FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
"""Seconds between tries: 1, 2, 4 … 60 (CM-8)."""
_END_SECONDS = 6.0
_LOOK_SECONDS = 1.0
"""How long a turn that begins during an outage waits to see whether it is over."""
PASSING = frozenset({"storage_unavailable", "storage_locked", "storage_full"})
"""Failures that end by themselves: the database is away, in use by another, or has no space."""

T = TypeVar("T")
T2 = TypeVar("T2")


class SpooledMemory(Memory):
    """Writes wait in the spool while the database refuses, and arrive in their order, each once.

    Opened cycles, steps, replies and saves are answered as if they were stored. A change of a memory that
    cannot be read now is kept too, and StorageFailed('memory_later') says so. With the spool full, or the
    disk below it, StorageFailed tells that nothing was kept.
    """

    _spool: Spool
    _url: str
    _task: "asyncio.Task[None] | None" = None
    _looking: "asyncio.Future[bool] | None" = None
    _unreadable = False
    _ending = False

    @property
    def unreadable(self) -> bool:
        return self._unreadable

    @property
    def waiting(self) -> bool:
        return self._spool.pending

    @asynccontextmanager
    async def spooled(self, spool: Spool, url: str) -> AsyncIterator[None]:
        """Uses `spool`; what waits in it arrives first, if it can. `url` is the database's."""
        self._spool, self._url = spool, url
        self._trying = asyncio.Lock()
        self._told: set[str] = set()
        await spool.open()
        try:
            if spool.pending:
                await self._try()
            yield
        finally:
            self._ending = True
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=_END_SECONDS)  # not every driver lets go at once
            if spool.pending:
                await self._try()
            await spool.close()

    def lost(self, failure: StorageFailed) -> bool:
        if failure.code not in PASSING:
            return False
        self._away(failure)
        return True

    def tell_outage(self, user: str) -> bool:
        if not (self._spool.pending or self._unreadable) or user in self._told:
            return False
        self._told.add(user)
        return True

    async def keep_message(self, user: str, chat: str, message: CycleMessage, *, channel: str) -> None:
        """Keeps a message whose turn could not begin; the transcript gets it if it has it not."""
        now = self._clock()
        cycle = begun_at(owned(user), chat, message, parent=None, channel=channel, at=now, late=True)
        await self._later(
            intents.OpenCycle(user=user, at=now, cycle=cycle, follow=True, once=True), begins=True
        )

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
        at = self._clock()
        if self._spool.pending or self._unreadable:  # the database may be back
            self._looking = asyncio.ensure_future(self._try())
            await asyncio.wait({self._looking}, timeout=_LOOK_SECONDS)

        def waits() -> tuple[Intent, Cycle]:
            cycle = begun_at(owned(user), chat, message, parent=parent, channel=channel, at=at, late=True)
            return intents.OpenCycle(user=user, at=at, cycle=cycle, follow=follow), cycle

        opened = super().open_cycle
        return await self._either(
            lambda: opened(user, chat, message, parent=parent, channel=channel, follow=follow),
            waits,
            begins=True,
        )

    async def append(
        self, user: str, cycle_id: str, execution: str, step: Step, text: CycleMessage | None
    ) -> None:
        at, appended = self._clock(), super().append

        def waits() -> tuple[Intent, None]:
            args: dict[str, Any] = {"cycle": cycle_id, "execution": execution, "step": step, "text": text}
            return intents.Append(user=owned(user), at=at, **args), None

        await self._either(lambda: appended(user, cycle_id, execution, step, text), waits)

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
        at, closing = self._clock(), super().close_cycle
        args: dict[str, Any] = {
            "execution": execution,
            "messages": tuple(messages),
            "steps": tuple(steps),
            "cut": cut,
            "formation": formation,
            "shown": tuple(shown),
        }

        def waits() -> tuple[Intent, None]:
            return intents.CloseCycle(user=owned(user), at=at, cycle=cycle_id, **args), None

        return await self._either(lambda: closing(user, cycle_id, **args), waits)

    async def save(
        self, user: str, drafts: Sequence[MemoryDraft], *, vectors: Mapping[str, np.ndarray] | None = None
    ) -> "list[Saved]":
        at, saving = self._clock(), super().save
        for draft in drafts:
            readable(draft.content)
        if vectors is None:
            texts = [text for draft in drafts for text in search_keys(draft)]
            vectors = await self.embed(texts)

        def waits() -> "tuple[Intent, list[Saved]]":
            data = embedder.packed(embedder.units(vectors))
            intent = intents.Save(
                user=owned(user), at=at, drafts=tuple(drafts), vectors=data, model=self._model
            )
            return intent, _promised(user, drafts, Keys(self._model, data), at)

        return await self._either(lambda: saving(user, drafts, vectors=vectors), waits)

    async def update(
        self,
        user: str,
        id: str,
        *,
        content: Any,
        bindings: Sequence[str] | None = None,
        key: str | None = None,
        correction: bool = False,
        cycle: str | None = None,
        words: str = "",
        said: datetime | None = None,
    ) -> MemoryRecord:
        at, updating = self._clock(), super().update
        args: dict[str, Any] = {
            "content": readable(content),
            "bindings": None if bindings is None else tuple(bindings),
            "key": key,
            "correction": correction,
            "cycle": cycle,
            "words": words,
            "said": aware(said),
        }

        def waits() -> tuple[Intent, None]:
            return intents.Update(user=owned(user), at=at, id=id, **args), None

        return _done(await self._either(lambda: updating(user, id, **args), waits))

    async def hide(
        self, user: str, ids: Iterable[str], *, reason: str = "user", cycle: str | None = None
    ) -> Records:
        at, hiding, wanted = self._clock(), super().hide, tuple(ids)

        def waits() -> tuple[Intent, None]:
            return intents.Hide(user=owned(user), at=at, ids=wanted, reason=reason, cycle=cycle), None

        return _done(await self._either(lambda: hiding(user, wanted, reason=reason, cycle=cycle), waits))

    async def sheets(self, user: str, chat: str | None) -> Sheets:
        """As ever; empty while the database is away."""
        try:
            if not self._unreadable:
                return await super().sheets(user, chat)
        except StorageFailed as failure:
            if not self.lost(failure):
                raise
        return Sheets.empty(owned(user), chat, self._clock())

    async def preferences(self, user: str) -> UserSettings:
        """As ever; nothing is set while the database is away."""
        try:
            if not self._unreadable:
                return await super().preferences(user)
        except StorageFailed as failure:
            if not self.lost(failure):
                raise
        return UserSettings(user=owned(user))

    async def change_settings(self, user: str, **fields: Any) -> UserSettings:
        """As ever; raises StorageFailed('memory_away') while the database is away: a setting never waits."""
        try:
            if not self._unreadable:
                return await super().change_settings(user, **fields)
        except StorageFailed as failure:
            if not self.lost(failure):
                raise
        raise StorageFailed("memory_away")

    async def _either(
        self,
        write: Callable[[], Awaitable[T]],
        waits: Callable[[], tuple[Intent, T2]],
        *,
        begins: bool = False,
    ) -> T | T2:
        """`write`, or, while the database is away or something waits already, the spool."""
        if not (self._spool.pending or self._unreadable):
            try:
                return await write()
            except StorageFailed as failure:
                if not self.lost(failure):
                    raise
        intent, told = waits()
        await self._later(intent, begins=begins)
        return told

    async def _later(self, intent: Intent, *, begins: bool = False) -> None:
        await self._spool.put(intent, begins=begins)
        self._begin_trying()

    def _away(self, failure: StorageFailed) -> None:
        log.warning("the database is away, writes wait: %s", failure.code)
        self._unreadable = self._unreadable or failure.code == "storage_unavailable"
        self._begin_trying()

    @asynccontextmanager
    async def _own_connection(self) -> AsyncIterator[Storage]:
        """One that no turn waits behind: a SQLite connection does one thing at a time."""
        if parse_url(self._url).path is None:
            await self._storage.owner("")  # asks whether the server is there
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
            if await self._try():
                return
            delay = min(delay * 2, LONGEST_DELAY)

    async def _try(self) -> bool:
        """Carries out what waits; whether the database is back and nothing waits any more."""
        async with self._trying:
            try:
                async with self._own_connection() as storage:
                    replay = Replay(storage, embeddings=self._embeddings, clock=lambda: replay.at)
                    while (intent := self._spool.oldest()) is not None:
                        await replay.carry_out(intent)
                        await self._spool.arrived()
            except StorageFailed as failure:
                log.warning("the database is still away, writes wait: %s", failure.code)
                return False
            self._unreadable = False
            self._told.clear()
            return True


@asynccontextmanager
async def open_spooled(
    url: str,
    *,
    embeddings: Embedder | None,
    folder: Path,
    limit: int = SPOOL_BYTES,
    clock: Callable[[], datetime] = utc_now,
    snapshots: Path | None = None,
    index_bytes: int = BUDGET,
) -> AsyncIterator[SpooledMemory]:
    """`Memory.open` with a spool of at most `limit` bytes in `folder`.

    Raises as `Memory.open` does, and StorageFailed('spool_unusable') when what was left cannot be read.
    """
    spool = Spool(folder, database_name(url), limit)
    opening = SpooledMemory.open(
        url, embeddings=embeddings, clock=clock, snapshots=snapshots, index_bytes=index_bytes
    )
    async with opening as memory, memory.spooled(spool, url):
        yield memory


def _promised(user: str, drafts: Sequence[MemoryDraft], keys: Keys, at: datetime) -> list[Saved]:
    """What will be made of drafts, as far as that can be known without the database."""
    outcomes = SavePlan(user, (), keys, at).add(named(user, draft) for draft in drafts).outcomes
    return [Saved(record=record, outcome=outcome, former=former) for record, outcome, former in outcomes]


def _done(stored: T | None) -> T:
    """What was stored; StorageFailed('memory_later') when it waits."""
    if stored is None:
        raise StorageFailed("memory_later")
    return stored
