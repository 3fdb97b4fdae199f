"""The part of the port that reads items: what apps keep by key, without what only memories need."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple


class StoredItem(NamedTuple):
    """An item as it is stored: a tuple, because a filter looks at ten thousand at once."""

    id: str
    key: str | None
    content: Any
    created: datetime
    changed: datetime
    """When it was last put, also as it was already."""


class ItemStorage(ABC):
    """Reads items fast: no record is made of their documents."""

    @abstractmethod
    async def items(
        self, space: str, *, ids: Collection[str] = (), keys: Collection[str] = ()
    ) -> list[StoredItem]:
        """The active documents with one of these ids, and those that hold one of these keys; in any order."""

    @abstractmethod
    async def deleted_items(self, space: str, key: str) -> list[str]:
        """Ids of the hidden documents that held this key, former versions aside; the last changed first."""
