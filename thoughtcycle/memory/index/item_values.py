"""Items of one space at hand: what their values say is asked again and again, and rarely changes."""

import sys
from collections.abc import Collection, Iterable
from typing import Any

from thoughtcycle.memory.storage import StoredItem

MOST = 64_000_000
"""Bytes of items that are kept, about; of a larger space the rest is read each time."""


class Values:
    """Holds items that did not change since they were read. Callers must not change what they say."""

    def __init__(self, most: int = MOST) -> None:
        self._items: dict[str, tuple[StoredItem, int]] = {}
        self._most = most
        self.nbytes = 0
        """Memory used, about."""

    def among(self, ids: Collection[str]) -> dict[str, StoredItem]:
        """Those of these items that are at hand."""
        return {id: held[0] for id in ids if (held := self._items.get(id)) is not None}

    def keep(self, items: Iterable[StoredItem]) -> None:
        """Holds these items, which are not held yet, as far as there is room."""
        for item in items:
            size = _size(item.content)
            if self.nbytes + size <= self._most:
                self._items[item.id] = item, size
                self.nbytes += size

    def drop(self, ids: Iterable[str]) -> None:
        """Lets go of what has changed."""
        for id in ids if self._items else ():
            if (held := self._items.pop(id, None)) is not None:
                self.nbytes -= held[1]


def _size(value: Any) -> int:
    """Bytes of a JSON value, about: names are shared by all of them."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sys.getsizeof(value) + sum(map(_size, inner))
