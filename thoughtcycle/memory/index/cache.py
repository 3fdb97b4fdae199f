"""Caches of the search indexes in use: one index per user, caught up with the database before each use."""

import asyncio
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Sequence, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Generic, Protocol, TypeVar

from thoughtcycle.errors import ThoughtcycleError
from thoughtcycle.memory.index.circuit_breaker import CircuitBreaker
from thoughtcycle.memory.index.embedder import embed, packed
from thoughtcycle.memory.index.memory_index import MemoryIndex
from thoughtcycle.memory.index.message_index import MessageIndex
from thoughtcycle.memory.model import MessageVector
from thoughtcycle.memory.redaction import Masks
from thoughtcycle.memory.storage import Storage, StoredItem
from thoughtcycle.memory.text.analyzer import digest

BUDGET = 512_000_000
"""Bytes that the indexes of all users may take; the least recently used are dropped and rebuilt later."""
_EMPTY_BYTES = 5_000
"""Bytes of an index without content: there may be many users who never said a word."""
_EMBEDDED_AT_ONCE = 256
"""Texts that are embedded and stored together; stored vectors stay when a later batch fails."""
_FEW_CYCLES, _FEW_CHARACTERS = 4, 8_000
"""Cycles, and characters of them, that are indexed without a change of threads."""


class _SizedIndex(Sized, Protocol):
    @property
    def nbytes(self) -> int: ...


Index = TypeVar("Index", bound=_SizedIndex)


@dataclass
class _Slot(Generic[Index]):
    index: Index
    state: Hashable = None
    """State of the user's data before the index was last caught up; None: it may lack something."""
    nbytes: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class IndexCache(ABC, Generic[Index]):
    """One index per user within a memory budget, least recently used first out. For one event loop."""

    def __init__(self, empty: Callable[[], Index], budget: int) -> None:
        """`empty` makes an index; `budget` in bytes: the index in use stays, however large."""
        self._empty = empty
        self._slots: OrderedDict[str, _Slot[Index]] = OrderedDict()
        self._budget = budget
        self.nbytes = 0
        """Memory used by all indexes, about."""

    @abstractmethod
    def _state(self, user: str) -> Hashable:
        """A value that changes with each write the index must know; None: only a read can tell."""

    @abstractmethod
    async def _catch_up(self, user: str, index: Index) -> Index:
        """Adds to `index` what was written meanwhile; returns a new one where `index` is of no more use."""

    async def has_content(self, user: str) -> bool:
        """Whether anything can be found; reads the database only when nothing was known so far."""
        if self.is_ready(user):
            return True
        async with self.index(user) as index:
            return len(index) > 0

    def is_ready(self, user: str) -> bool:
        """Whether this process has an index with content; reads no database."""
        slot = self._slots.get(user)
        return slot is not None and len(slot.index) > 0

    @asynccontextmanager
    async def index(self, user: str) -> AsyncIterator[Index]:
        """The user's index, up to date with the writes of every process, for the caller alone.

        An interrupted caller discards the index: a thread may still be changing it.
        """
        slot = self._slots.get(user)
        if slot is None:
            slot = self._slots[user] = _Slot(self._empty())
            self._account(user)  # it may stay empty: the database may be away
        self._slots.move_to_end(user)
        async with slot.lock:
            try:
                state = self._state(user)
                if state is None or state != slot.state:
                    slot.state = state  # the index may learn of later writes too, which does no harm
                    slot.index = await self._catch_up(user, slot.index)
                    self._account(user)
                yield slot.index
            except ThoughtcycleError:  # the database is away or a model fails: the index was not changed
                slot.state = None
                raise
            except BaseException:
                slot.index, slot.state = self._empty(), None
                raise

    def _account(self, user: str) -> None:
        """Updates the memory used after an index grew, and drops others while they exceed the budget."""
        if (slot := self._slots.get(user)) is None:
            return  # dropped meanwhile
        before, slot.nbytes = slot.nbytes, _EMPTY_BYTES + slot.index.nbytes
        self.nbytes += slot.nbytes - before
        while self.nbytes > self._budget and len(self._slots) > 1:
            _, oldest = self._slots.popitem(last=False)
            self.nbytes -= oldest.nbytes


class MemoryIndexes(IndexCache[MemoryIndex]):
    """One index of memories per space, caught up from the journal."""

    def __init__(self, storage: Storage, model: str | None, budget: int = BUDGET) -> None:
        """`model` names the embedding model whose vectors count; None: words only."""
        super().__init__(MemoryIndex, budget)
        self._storage, self._model = storage, model

    async def past(self, user: str, at: datetime) -> MemoryIndex:
        """An index of what was believed at `at`; former versions and archived memories count as active."""
        feed = await self._storage.memories.past(user, at, model=self._model)
        index = MemoryIndex()
        entries = [entry._replace(status="active") for entry in feed.entries]
        await asyncio.to_thread(index.apply, replace(feed, entries=entries))
        return index

    async def items(self, user: str, index: MemoryIndex, ids: Sequence[str]) -> list[StoredItem]:
        """The stored items among `ids`, in this order; `index`, the user's, caches them."""
        found = index.items.get(ids)
        if missing := [id for id in ids if id not in found]:
            read = await self._storage.memories.items(user, ids=missing)
            index.items.add(read)
            self._account(user)
            found |= {item.id: item for item in read}
        return [found[id] for id in ids if id in found]

    def _state(self, user: str) -> Hashable:
        glimpse = self._storage.glimpse(user)
        return glimpse and glimpse.pulse

    async def _catch_up(self, user: str, index: MemoryIndex) -> MemoryIndex:
        feed = await self._storage.memories.feed(user, index.number, model=self._model)
        if feed.number < index.number:  # the database file was replaced by another
            index = MemoryIndex()
            feed = await self._storage.memories.feed(user, 0, model=self._model)
        if feed.number != index.number:
            await asyncio.to_thread(index.apply, feed)
        return index


class MessageIndexes(IndexCache[MessageIndex]):
    """One index of messages per user, caught up from closed cycles; vectors are made when asked for."""

    def __init__(
        self, storage: Storage, embeddings: CircuitBreaker | None, masks: Masks, budget: int = BUDGET
    ) -> None:
        """`masks` redact the words of hidden memories."""
        super().__init__(MessageIndex, budget)
        self._storage, self._embeddings, self._masks = storage, embeddings, masks

    async def embed_missing(self, user: str, index: MessageIndex) -> None:
        """Makes and stores the vectors that messages of `index` lack; raises ModelFailed."""
        while await self.embed_some(user, index):
            pass

    async def embed_some(self, user: str, index: MessageIndex) -> int:
        """Makes and stores some of the vectors that messages of `index` lack; 0 when none does."""
        if self._embeddings is None or self._embeddings.away:
            return 0
        some = dict(islice(index.pending.items(), _EMBEDDED_AT_ONCE))
        data = packed(await embed(self._embeddings, [text for _, text in some.values()]))
        name = self._embeddings.name
        made = {
            slot: MessageVector(cycle=cycle, digest=digest(text), model=name, data=data[text])
            for slot, (cycle, text) in some.items()
            if text in data
        }
        if made:
            await self._storage.transcript.keep_message_vectors(user, list(made.values()))
            index.add_vectors(made)
            self._account(user)
        for slot in some:  # also those whose text has no direction
            index.pending.pop(slot, None)
        return len(some)

    def _state(self, user: str) -> Hashable:
        return self._storage.glimpse(user)

    async def _catch_up(self, user: str, index: MessageIndex) -> MessageIndex:
        model = self._embeddings.name if self._embeddings is not None else None
        mask, feed = await asyncio.gather(
            self._masks.of(user), self._storage.transcript.cycle_feed(user, index.number, model=model)
        )
        again: set[str] = set()
        if mask != index.mask:
            again = await asyncio.to_thread(index.touched, mask)
        read = await self._storage.transcript.cycles(user, sorted(again)) if _few(again, index) else []
        if feed.number < index.number or len(read) < len(again):  # less: the database file was replaced
            index = MessageIndex(mask)
            feed = await self._storage.transcript.cycle_feed(user, 0, model=model)
        elif read:
            newer = {cycle.id for cycle in feed.cycles}
            read = [cycle for cycle in read if cycle.id not in newer]
            tips = index.tips(read)
            feed = replace(feed, cycles=(*read, *feed.cycles), tips={**tips, **feed.tips})
        index.mask = mask
        if feed.number == index.number and not feed.cycles:
            return index
        texts = [message.text for cycle in feed.cycles for message in (cycle.message, *cycle.replies)]
        if len(feed.cycles) <= _FEW_CYCLES and sum(map(len, texts)) < _FEW_CHARACTERS:
            index.apply(feed)
        else:
            await asyncio.to_thread(index.apply, feed)
        return index


def _few(cycles: Collection[str], index: MessageIndex) -> bool:
    """Whether to index these cycles anew takes less than to index all."""
    return 0 < 2 * len(cycles) <= index.size
