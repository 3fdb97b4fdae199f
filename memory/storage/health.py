"""The part of the port that looks at what the rest takes for granted: is everything where it belongs?"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CycleState:
    """Where a cycle stands among its user's, without what was said."""

    id: str
    chat: str
    open: bool
    number: int | None
    """Of its last change; None while it is open."""


@dataclass(frozen=True)
class Census:
    """How much there is of a user."""

    memories: Mapping[tuple[str, str | None], int]
    """(status, kind) → how many."""
    chats: int
    cycles: int
    changes: int
    """Rows of the journal."""
    sheets: Mapping[str, int]
    """Kind → how many; dropped ones do not count."""
    pending: int
    """Cycles whose formation is pending."""
    bytes: int
    """Of the user's own documents and vectors, without what the database adds."""
    database_bytes: int | None
    """Of the whole database on disk; None where the server does not tell."""

    @property
    def by_status(self) -> list[dict[str, Any]]:
        """The memories for machines: status, kind and count of each group, in the order of their names."""
        groups = sorted(self.memories.items(), key=str)
        return [{"status": status, "kind": kind, "count": count} for (status, kind), count in groups]


class Health(ABC):
    """Checks and repairs that need the database's own means."""

    @abstractmethod
    async def integrity(self) -> list[str]:
        """What is wrong in the database as a whole, whoever's it is; in its own words, [] when nothing."""

    @abstractmethod
    async def mend(self) -> None:
        """Deletes vectors of messages and access counts of what is not there."""

    @abstractmethod
    async def users(self) -> list[str]:
        """Everybody of whom there is anything."""

    @abstractmethod
    async def census(self, user: str) -> Census:
        """How much there is of a user."""

    @abstractmethod
    async def cycle_states(self, user: str) -> list[CycleState]:
        """All cycles of a user."""

    @abstractmethod
    async def stray_vectors(self, space: str) -> list[str]:
        """Ids of vectors that no document lists."""

    @abstractmethod
    async def mend_vectors(self, space: str) -> None:
        """Deletes stray vectors and takes missing ones off the documents that list them."""

    @abstractmethod
    async def mend_chat(self, user: str, chat: str, tip: str | None) -> None:
        """Makes `tip` the end of the chat's live branch, and the chat itself where it is missing."""
