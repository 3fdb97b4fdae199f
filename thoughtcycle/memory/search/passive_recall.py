"""Passive recall: finds memories and messages for a reply in one go."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from thoughtcycle.errors import ThoughtcycleError
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.index import MemoryQuery
from thoughtcycle.memory.model import Cycle, MemoryHit, MemoryRecord, MessageHit
from thoughtcycle.memory.search.service import FACTS, Part, Search, plain_query

log = logging.getLogger(__name__)

WAIT_SECONDS = 0.25
"""How long a reply waits for the index of messages, where this process has none yet."""
_FEW = 5_000
"""Messages that are searched on the event loop: less time than a change of threads."""
CHATS = 50
"""Other chats that are searched with smart context (SM-5)."""
_JUDGED = 12
"""Cycles of other chats whose judgement is shown."""


@dataclass(frozen=True)
class Recollection:
    """Memories and messages that answer a message; deleted words are masked."""

    hits: Sequence[MemoryHit] = ()
    """Best first."""
    messages: Sequence[MessageHit] = ()
    """Of this chat and, where asked for, of others; best first."""
    cycles: Mapping[str, Cycle] = field(default_factory=dict)
    """Of other chats, the cycles of the best `messages`."""
    former: Mapping[str, MemoryRecord] = field(default_factory=dict)
    """Memory → its last former version, where it changed."""
    accesses: Mapping[str, int] = field(default_factory=dict)
    """Memory → how often it was found."""


class PassiveRecall:
    """The reads of the reply path; none of them embeds messages."""

    def __init__(self, core: Core, search: Search) -> None:
        self._search = search
        self._accesses, self._clock, self._masks = core.accesses, core.clock, core.redactors
        self._storage, self._indexes = core.storage, core.message_indexes
        self._building: dict[str, asyncio.Task[None]] = {}

    async def recollect(
        self,
        user: str,
        query: str,
        chat: str,
        *,
        memories: int,
        messages: int = 0,
        others: Callable[[], Awaitable[int]] | None = None,
        vector: np.ndarray | None = None,
        patience: float | None = None,
        unsaid: Callable[[str], bool] = lambda text: False,
    ) -> Recollection:
        """The user's memories and messages that speak of `query`, asked in `chat`.

        At most so many `memories`, and `messages` of this chat and of the last chats beside it; `others` is
        awaited for the number of those chats while the rest is read. Nothing counts as accessed (see
        `accessed`). `vector` as in `search`. `patience`: seconds to wait for an index of messages that this
        process has not built yet; it is built all the same, and None waits for it. `unsaid`: whether a
        message without a judgement yet asks not to be remembered.
        Raises ModelFailed when embeddings fail.
        """
        query = plain_query(query)
        ready = messages and self._indexes.is_ready(owned(user))
        include: tuple[Part, ...] = ("facts", "cycles") if ready else FACTS
        direction = await self._search.query_vector(owned(user), query, vector, include)
        wanted = MemoryQuery(query, direction, limit=memories)
        hits, said = await asyncio.gather(
            self._search.memories(user, wanted, FACTS),
            self._messages(user, wanted, chat, messages, others, patience),
        )
        changed = [hit.record.id for hit in hits if hit.record.valid_from > hit.record.created]
        cycles, former, counts = await asyncio.gather(
            self._masked(user, list(dict.fromkeys(one.cycle for one in said))),
            self._former(user, changed),
            self._accesses.about(user, [hit.record.id for hit in hits]),
        )
        withheld = {id for id, cycle in cycles.items() if _withheld(cycle, unsaid)}
        shown = [one for one in said if one.cycle not in withheld]
        elsewhere = list(dict.fromkeys(one.cycle for one in shown if one.chat != chat))[:_JUDGED]
        judged = {id: cycles[id] for id in elsewhere if id in cycles}
        return Recollection(hits, shown, judged, former, counts)

    def accessed(self, user: str, ids: Collection[str]) -> None:
        """Counts one access of each of these memories (LM-9), written behind."""
        self._accesses.note(owned(user), ids, self._clock())

    async def embed_messages(self, user: str) -> None:
        """Makes and stores the vectors that the user's messages lack; raises ModelFailed."""
        async with self._indexes.index(owned(user)) as index:
            await self._indexes.embed_missing(user, index)

    async def stop_warming(self) -> None:
        """Waits for the indexes that are being built in the background."""
        await asyncio.gather(*self._building.values(), return_exceptions=True)

    async def _messages(
        self,
        user: str,
        query: MemoryQuery,
        chat: str,
        limit: int,
        others: Callable[[], Awaitable[int]] | None,
        patience: float | None,
    ) -> list[MessageHit]:
        if not limit or not await self._ready(user, patience):
            return []
        async with self._indexes.index(user) as index:
            most = await others() if others is not None else 0
            chats = [chat, *(index.latest_chats(most, without=chat) if most else ())]
            search = partial(index.search, query.text, query.vector, limit=limit, chats=chats)
            return search() if index.size <= _FEW else await asyncio.to_thread(search)

    async def _ready(self, user: str, patience: float | None) -> bool:
        """Whether there is an index of messages in time; one that takes longer serves a later turn."""
        if self._indexes.is_ready(user):
            return True
        task = self._building.get(user)
        if task is None:
            task = self._building[user] = asyncio.create_task(self._build(user))
            task.add_done_callback(lambda _: self._building.pop(user, None))
        await asyncio.wait({task}, timeout=patience)
        return self._indexes.is_ready(user)

    async def _build(self, user: str) -> None:
        try:
            async with self._indexes.index(user):
                pass
        except ThoughtcycleError as failure:
            log.warning("what was said is not searched: %s", failure.code)

    async def _former(self, user: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        versions = await self._storage.memories.versions(user, ids) if ids else []
        found: dict[str, MemoryRecord] = {}
        for version in versions:  # the latest first
            if version.status == "superseded" and version.current is not None and not version.merged:
                found.setdefault(version.current, version)
        return found

    async def _masked(self, user: str, ids: Sequence[str]) -> dict[str, Cycle]:
        if not ids:
            return {}
        mask = await self._masks.of(user)
        return {cycle.id: mask.cycle(cycle) for cycle in await self._storage.transcript.cycles(user, ids)}


def _withheld(cycle: Cycle, unsaid: Callable[[str], bool]) -> bool:
    """Whether the user does not want the cycle remembered."""
    return unsaid(cycle.message.text) if cycle.judgement is None else cycle.judgement.unsaid
