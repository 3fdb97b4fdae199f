"""The port of the bytes of files which memories name (LM-15)."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping


class Files(ABC):
    """Keeps each user's files under the SHA-256 of their bytes; users share none."""

    @abstractmethod
    async def put(self, user: str, sha256: str, data: bytes) -> None:
        """Keeps a file; one that is there stays as it is.

        Raises NotAllowed('user_forgotten') as all that belongs to a time before that.
        """

    @abstractmethod
    async def get(self, user: str, sha256: str) -> bytes | None:
        """The bytes of a file; None when the user has none of this hash."""

    @abstractmethod
    async def listing(self, user: str) -> Mapping[str, int]:
        """Hash → size in bytes of all files of the user that are there as a whole."""

    @abstractmethod
    async def drop(self, user: str, sha256: str, *, without: Collection[str] = ()) -> bool:
        """Deletes a file that no memory names, those with the ids `without` aside; whether it did."""
