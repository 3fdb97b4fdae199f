"""What a reply may need of a memory, found in one go: memories, and what was said here and elsewhere."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from thoughtcycle.errors import ThoughtcycleError
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.index import DEFAULT, FLOOR, LONGEST, Filters, recipe_of, unit
from thoughtcycle.memory.model import Cycle, MemoryHit, MemoryRecord, MessageHit
from thoughtcycle.memory.search.service import FACTS, LONGEST_QUERY, Look, Search

log = logging.getLogger(__name__)

WAIT_SECONDS = 0.25
"""How long a reply waits for the index of what was said, where this process has none yet."""
_FEW = 5_000
"""Messages that are searched at once: a change of threads costs as much as the millisecond it takes."""
CHATS = 50
"""Chats beside this one that are looked through with smart context (SM-5)."""
_JUDGED = 12
"""Cycles of other chats of which the judgement is shown."""


def _nothing(text: str) -> bool:
    return False


@dataclass(frozen=True)
class Recollection:
    """What a message brings to mind; deleted words are masked."""

    hits: Sequence[MemoryHit] = ()
    """Best first."""
    messages: Sequence[MessageHit] = ()
    """Of this chat and, where asked for, of others; best first."""
    cycles: Mapping[str, Cycle] = field(default_factory=dict)
    """Of other chats, those to which the best of `messages` belong."""
    former: Mapping[str, MemoryRecord] = field(default_factory=dict)
    """Memory → what it said last before it changed, where it did."""
    accesses: Mapping[str, int] = field(default_factory=dict)
    """Memory → how often it was found."""


class PassiveRecall:
    """The reads of the reply path; none of them makes vectors of what was said."""

    def __init__(self, core: Core, search: Search) -> None:
        self._core = core
        self._search = search
        self._accesses = core.accesses
        self._clock = core.clock
        self._embeddings = core.embeddings
        self._masks = core.redactors
        self._storage = core.storage
        self._talks = core.messages
        self._warming: dict[str, asyncio.Task[None]] = {}

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
        floor: float = FLOOR,
        patience: float | None = None,
        unsaid: Callable[[str], bool] = _nothing,
    ) -> Recollection:
        """What of the user's memory speaks of `query`, asked in `chat`.

        At most so many `memories`, and `messages` of this chat and of the last chats beside it; how many
        `others` is asked while the rest is read. Nothing counts as accessed (see `accessed`). `vector` as in
        `search`, `floor` for messages only. `patience`: seconds to wait for an index of what was said that
        this process has not made yet; it is made all the same, and None waits for it. `unsaid`: whether a
        message that nobody has judged yet asks not to be remembered.
        Raises ModelFailed when embeddings fail.
        """
        query = query[:LONGEST_QUERY].encode(errors="ignore").decode()
        direction = await self._towards(owned(user), query, vector, bool(messages))
        look = Look(query, direction, Filters(), memories, FLOOR, recipe_of(DEFAULT))
        hits, said = await asyncio.gather(
            self._search.facts(user, look, FACTS) if memories else _none(),
            self._heard(user, look, chat, messages, others, floor, patience),
        )
        changed = [hit.record.id for hit in hits if hit.record.valid_from > hit.record.created]
        cycles, former, counts = await asyncio.gather(
            self._masked(user, list(dict.fromkeys(one.cycle for one in said))),
            self._former(user, changed),
            self._accesses.about(user, [hit.record.id for hit in hits]),
        )
        away = {id for id, cycle in cycles.items() if _unsaid(cycle, unsaid)}
        told = [one for one in said if one.cycle not in away]
        there = list(dict.fromkeys(one.cycle for one in told if one.chat != chat))[:_JUDGED]
        judged = {id: cycles[id] for id in there if id in cycles}
        return Recollection(hits, told, judged, former, counts)

    def accessed(self, user: str, ids: Collection[str]) -> None:
        """Counts one access of each of these memories (LM-9), written behind."""
        self._accesses.note(owned(user), ids, self._clock())

    async def embed_messages(self, user: str) -> None:
        """Makes and keeps the vectors that the user's messages lack; raises ModelFailed."""
        async with self._talks.index(owned(user)) as index:
            await self._talks.complete(user, index)

    async def stop_warming(self) -> None:
        """Waits for the indexes that are being made for nobody in particular."""
        await asyncio.gather(*self._warming.values(), return_exceptions=True)

    async def _towards(
        self, user: str, query: str, vector: np.ndarray | None, said: bool
    ) -> np.ndarray | None:
        """The query's vector; None where there is nothing to compare it with."""
        if vector is None and said and self._embeddings is not None and self._talks.warm(user):
            return unit(await self._embeddings.aembed_query(query[:LONGEST]))
        return await self._search.direction(user, query, vector, FACTS)

    async def _heard(
        self,
        user: str,
        look: Look,
        chat: str,
        limit: int,
        others: Callable[[], Awaitable[int]] | None,
        floor: float,
        patience: float | None,
    ) -> list[MessageHit]:
        if not limit or not await self._warmed(user, patience):
            return []
        async with self._talks.index(user) as index:
            most = await others() if others is not None else 0
            chats = [chat, *(index.latest(chat, most) if most else ())]
            found = partial(index.search, look.query, look.direction, limit=limit, floor=floor, chats=chats)
            return found() if index.size <= _FEW else await asyncio.to_thread(found)

    async def _warmed(self, user: str, patience: float | None) -> bool:
        """Whether there is an index of what was said; one that takes longer is ready for a later turn."""
        if self._talks.warm(user):
            return True
        task = self._warming.get(user)
        if task is None:
            task = self._warming[user] = asyncio.create_task(self._warm(user))
            task.add_done_callback(lambda _: self._warming.pop(user, None))
        await asyncio.wait({task}, timeout=patience)
        return self._talks.warm(user)

    async def _warm(self, user: str) -> None:
        try:
            async with self._talks.index(user):
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


def _unsaid(cycle: Cycle, asks: Callable[[str], bool]) -> bool:
    """Whether the user does not want it remembered."""
    return asks(cycle.message.text) if cycle.judgement is None else cycle.judgement.unsaid


async def _none() -> list[MemoryHit]:
    return []
