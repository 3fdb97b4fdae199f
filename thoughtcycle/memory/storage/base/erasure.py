"""The port of what erasing asks for: all that is left of a memory, tombstones, a clean file."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence

from thoughtcycle.memory.model import MemoryRecord, Tombstone


class Erasure(ABC):
    """Finds what is to be erased, and keeps what must not be learned again."""

    @abstractmethod
    async def family(self, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        """The documents with these ids and all their former versions, erased ones too."""

    @abstractmethod
    async def hidden(self, space: str | None = None) -> list[MemoryRecord]:
        """The hidden documents that were deleted, neither abandoned nor undone ones, the last changed first.

        None: of all users, in any order: for those who clean up, never for a user.
        """

    @abstractmethod
    async def secret(self, user: str, fresh: bytes) -> bytes:
        """The user's random key: the one that is kept, else `fresh`, which is kept from now on."""

    @abstractmethod
    async def bury(self, user: str, tombstones: Sequence[Tombstone]) -> None:
        """Keeps tombstones, one per memory; those that are there already stay as they are."""

    @abstractmethod
    async def tombstones(self, user: str) -> list[Tombstone]:
        """The user's tombstones."""

    @abstractmethod
    async def rewrite_journal(self, space: str, befores: Mapping[int, MemoryRecord]) -> None:
        """Replaces what rows (by number) keep of a memory; only erasing does that."""

    @abstractmethod
    async def scrub(self) -> None:
        """Removes from the database's files what was overwritten there, as far as that is in our hands."""
