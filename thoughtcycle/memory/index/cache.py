"""Derived indexes that are in use, one per user: caught up before each use, the oldest let go."""

import asyncio
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import AsyncIterator, Hashable, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from thoughtcycle.errors import ThoughtcycleError

BUDGET = 512_000_000
"""Bytes that the indexes of all users may take; those not used for longest are let go, and made anew."""
EMPTY = 5_000
"""Bytes that an index takes in which there is nothing: of users who never said a word there may be many."""


class Derived(Sized, Protocol):
    """An index: how many it can find, and what memory that takes."""

    @property
    def nbytes(self) -> int:
        """Memory used, about."""
        ...


Index = TypeVar("Index", bound=Derived)


@dataclass
class _Slot(Generic[Index]):
    index: Index
    pulse: Hashable = None
    """The user's before the index was last caught up; None: it may lack something."""
    nbytes: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Shelf(ABC, Generic[Index]):
    """One index per user, for one event loop."""

    def __init__(self, budget: int = BUDGET) -> None:
        """`budget` in bytes; the index in use stays, however large."""
        self._slots: OrderedDict[str, _Slot[Index]] = OrderedDict()
        self._budget = budget
        self.nbytes = 0
        """Memory used by all indexes, about."""

    @abstractmethod
    def _pulse(self, user: str) -> Hashable:
        """Another value once anything was written that the index shall know; None: only a read can tell."""

    @abstractmethod
    def _fresh(self) -> Index:
        """An empty index."""

    @abstractmethod
    async def _caught_up(self, user: str, index: Index) -> Index:
        """`index` with all that was written meanwhile; another one where it cannot be used any more."""

    async def filled(self, user: str) -> bool:
        """Whether anything can be found; looks at the database only when nothing was known so far."""
        if self.warm(user):
            return True
        async with self.index(user) as index:
            return len(index) > 0

    def warm(self, user: str) -> bool:
        """Whether there is an index in which something can be found; looks at no database."""
        slot = self._slots.get(user)
        return slot is not None and len(slot.index) > 0

    @asynccontextmanager
    async def index(self, user: str) -> AsyncIterator[Index]:
        """The user's index, up to date with every process's writes, for the caller alone.

        Whoever is interrupted leaves its index behind: a thread may still be working on it.
        """
        slot = self._slots.get(user)
        if slot is None:
            slot = self._slots[user] = _Slot(self._fresh())
            self._weigh(user)  # it may never come to know anything: the database may be away
        self._slots.move_to_end(user)
        async with slot.lock:
            try:
                pulse = self._pulse(user)
                if pulse is None or pulse != slot.pulse:
                    slot.pulse = pulse  # the index may come to know more than that, which does no harm
                    slot.index = await self._caught_up(user, slot.index)
                    self._weigh(user)
                yield slot.index
            except ThoughtcycleError:  # a database that is away, a model that fails: nothing was begun
                slot.pulse = None
                raise
            except BaseException:
                slot.index, slot.pulse = self._fresh(), None
                raise

    def _weigh(self, user: str) -> None:
        """Accounts for an index that grew, and lets go of others while they are too many together."""
        if (slot := self._slots.get(user)) is None:
            return  # let go of meanwhile
        before, slot.nbytes = slot.nbytes, EMPTY + slot.index.nbytes
        self.nbytes += slot.nbytes - before
        while self.nbytes > self._budget and len(self._slots) > 1:
            _, oldest = self._slots.popitem(last=False)
            self.nbytes -= oldest.nbytes
