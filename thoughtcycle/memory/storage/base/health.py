"""The port of integrity checks, and of repairs that need the database's own means."""

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True)
class CycleState:
    """Where a cycle stands among its user's, without what was said."""

    id: str
    chat: str
    open: bool
    number: int | None
    """Of its last change; None while it is open."""


class Health(ABC):
    """Checks and repairs; none of them loses what a user said."""

    @abstractmethod
    async def integrity(self) -> list[str]:
        """What is wrong in the database as a whole, whoever's it is; in its own words, [] when nothing."""

    @abstractmethod
    async def mend(self) -> None:
        """Deletes vectors of messages and access counts of what is not there."""

    @abstractmethod
    async def cycle_states(self, user: str) -> list[CycleState]:
        """All cycles of a user."""

    @abstractmethod
    async def stray_vectors(self, space: str) -> list[str]:
        """Ids of vectors that no document lists."""

    @abstractmethod
    async def mend_vectors(self, space: str) -> None:
        """Deletes stray vectors and takes missing ones off the documents that list them."""
