"""The port of erasure: all versions of a memory, tombstones, redaction of the journal and of the files."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence

from thoughtcycle.memory.model import MemoryRecord, Tombstone


class Erasure(ABC):
    """Finds the records to erase and stores the tombstones that keep them from being learned again."""

    @abstractmethod
    async def family(self, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        """The documents with these ids and all their former versions, erased ones too."""

    @abstractmethod
    async def hidden(self, space: str | None = None) -> list[MemoryRecord]:
        """The soft-deleted documents, without abandoned and undone ones, the last changed first.

        None: of all users, in any order; for maintenance only.
        """

    @abstractmethod
    async def secret(self, user: str, fresh: bytes) -> bytes:
        """The user's random key: the stored one, else `fresh`, which is stored."""

    @abstractmethod
    async def bury(self, user: str, tombstones: Sequence[Tombstone]) -> None:
        """Stores tombstones, one per memory; existing ones stay as they are."""

    @abstractmethod
    async def tombstones(self, user: str) -> list[Tombstone]:
        """The user's tombstones."""

    @abstractmethod
    async def rewrite_journal(self, space: str, befores: Mapping[int, MemoryRecord]) -> None:
        """Replaces the former record in rows, given by number; only erasure does that."""

    @abstractmethod
    async def scrub(self) -> None:
        """Removes overwritten data from the database's files, where we own them."""
