"""The port of the bytes of attached files (LM-15)."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping


class Files(ABC):
    """Keeps each user's files under the SHA-256 of their bytes; users share none."""

    @abstractmethod
    async def put(self, user: str, sha256: str, data: bytes) -> None:
        """Stores a file; an existing one stays as it is.

        Raises NotAllowed('user_forgotten') in an epoch that has ended.
        """

    @abstractmethod
    async def get(self, user: str, sha256: str) -> bytes | None:
        """The bytes of a file; None when the user has none of this hash."""

    @abstractmethod
    async def listing(self, user: str) -> Mapping[str, int]:
        """Hash → size in bytes of the user's complete files."""

    @abstractmethod
    async def drop(self, user: str, sha256: str, *, without: Collection[str] = ()) -> bool:
        """Deletes a file unless a memory other than those `without` names it; whether it did."""
