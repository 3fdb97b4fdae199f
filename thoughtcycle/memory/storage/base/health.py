"""The port of integrity checks, and of repairs that need the database's own means."""

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True)
class CycleState:
    """The state of a cycle without its texts."""

    id: str
    chat: str
    open: bool
    number: int | None
    """Of its last change; None while it is open."""


class Health(ABC):
    """Checks and repairs; none of them loses what a user said."""

    @abstractmethod
    async def integrity(self) -> list[str]:
        """Problems of the database as a whole, of all users, in its own words; [] when there are none."""

    @abstractmethod
    async def mend(self) -> None:
        """Deletes message vectors and access counts whose cycle or memory is missing."""

    @abstractmethod
    async def cycle_states(self, user: str) -> list[CycleState]:
        """All cycles of a user."""

    @abstractmethod
    async def stray_vectors(self, space: str) -> list[str]:
        """Ids of vectors that no document lists."""

    @abstractmethod
    async def mend_vectors(self, space: str) -> None:
        """Deletes stray vectors and removes missing ones from the documents that list them."""
