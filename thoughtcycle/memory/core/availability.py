"""Availability of the database: how reads and explicit changes meet an outage."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from thoughtcycle.errors import LearnedLater, MemoryAway, StorageFailed, ThoughtcycleError

T = TypeVar("T")
T2 = TypeVar("T2")
P = ParamSpec("P")


class Availability:
    """Of a memory without a spool: no outage is survived, each failure is the caller's."""

    unreadable = False
    """Whether nothing can be read now."""

    @property
    def waiting(self) -> bool:
        """Whether something that was said is not in the database yet, and therefore not found."""
        return False

    def survives(self, failure: StorageFailed) -> bool:
        """Whether `failure` is an outage that this memory goes on in; from now on it is known."""
        return False

    def tell(self, user: str) -> bool:
        """Whether the user has to be told of an outage; True once per outage."""
        return False

    async def over(self) -> bool:
        """Whether the database is back, and everything that waited has arrived."""
        return True

    def require(self, *, whole: bool = False) -> None:
        """Raises MemoryAway while nothing can be read; `whole`: or anything waits."""
        if self.unreadable or (whole and self.waiting):
            raise MemoryAway

    async def read(self, reading: Callable[[], Awaitable[T]], instead: T2, *, anyway: bool = False) -> T | T2:
        """The result of `reading`; `instead` during an outage that this memory survives.

        `anyway`: tried even where the outage is known, for what must not miss its end.
        """
        try:
            if anyway or not self.unreadable:
                return await reading()
        except StorageFailed as failure:
            if not self.survives(failure):
                raise
        return instead

    def in_words(self, failure: ThoughtcycleError, *, kept: bool) -> ThoughtcycleError:
        """`failure` as the user is told of it: an outage in one line, which says if the message is `kept`."""
        if not isinstance(failure, StorageFailed):
            return failure
        if not isinstance(failure, MemoryAway) and not self.survives(failure):
            return failure
        return LearnedLater() if kept else MemoryAway()


class _HasAvailability(Protocol):
    @property
    def availability(self) -> Availability: ...


K = TypeVar("K", bound=_HasAvailability)


def explicit(
    change: Callable[Concatenate[K, P], Awaitable[T]],
) -> Callable[Concatenate[K, P], Coroutine[Any, Any, T]]:
    """Refuses a change somebody asks for with MemoryAway while the database is away."""

    @wraps(change)
    async def changed(self: K, /, *args: P.args, **named: P.kwargs) -> T:
        if not await self.availability.over():
            raise MemoryAway
        try:
            return await change(self, *args, **named)
        except StorageFailed as failure:
            if self.availability.survives(failure):
                raise MemoryAway from failure
            raise

    return changed
