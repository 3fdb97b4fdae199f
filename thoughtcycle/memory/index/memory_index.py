"""The search index of one space: active memories and, apart, archived ones; derived from the journal."""

import sys
from collections.abc import Collection, Iterable
from typing import Any

from thoughtcycle.memory.index.corpus import Candidate, Corpus, MemoryQuery
from thoughtcycle.memory.model import Status
from thoughtcycle.memory.storage import Feed, StoredItem

ACTIVE: tuple[Status, ...] = ("active",)
ITEM_CACHE_BYTES = 64_000_000
"""Bytes of items that one index caches, about; of a larger space the rest is read each time."""


class ItemCache:
    """Items that did not change since they were read. Callers must not change their content."""

    def __init__(self, most: int = ITEM_CACHE_BYTES) -> None:
        self._items: dict[str, tuple[StoredItem, int]] = {}
        self._most = most
        self.nbytes = 0
        """Memory used, about."""

    def get(self, ids: Collection[str]) -> dict[str, StoredItem]:
        """The cached items among `ids`."""
        return {id: held[0] for id in ids if (held := self._items.get(id)) is not None}

    def add(self, items: Iterable[StoredItem]) -> None:
        """Caches these items, which are not cached yet, as far as there is room."""
        for item in items:
            size = _json_bytes(item.content)
            if self.nbytes + size <= self._most:
                self._items[item.id] = item, size
                self.nbytes += size

    def drop(self, ids: Iterable[str]) -> None:
        """Removes items that changed."""
        for id in ids if self._items else ():
            if (held := self._items.pop(id, None)) is not None:
                self.nbytes -= held[1]


def _json_bytes(value: Any) -> int:
    """Bytes of a JSON value, about: keys are shared by all of them."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sys.getsizeof(value) + sum(map(_json_bytes, inner))


class MemoryIndex:
    """The memories of one space, as of journal row `number`. CPU-bound, not thread-safe.

    Its statistics are its own: nothing of another space has any part in a score (BY-5), and nothing that is
    archived in that of an active memory.
    """

    def __init__(self) -> None:
        self.number = 0
        self.hidden: dict[str, str | None] = {}
        """Ids of hidden memories, with the reason."""
        self.active, self.archived = Corpus(), Corpus()
        self.items = ItemCache()
        """Active items whose content a search has read."""

    def __len__(self) -> int:
        """How many memories can be found."""
        return len(self.active) + len(self.archived)

    @property
    def nbytes(self) -> int:
        """Memory used, about."""
        return self.active.nbytes + self.archived.nbytes + self.items.nbytes + 200 * len(self.hidden)

    def apply(self, feed: Feed) -> None:
        """Brings the index up to `feed.number`: each entry of the feed replaces the former one of its id."""
        changed = [entry.id for entry in feed.entries]
        self.items.drop(changed)
        for status, corpus in (("active", self.active), ("archived", self.archived)):
            corpus.remove(changed)
            entries = [entry for entry in feed.entries if entry.status == status]
            if entries:
                corpus.add(entries, feed.blocks)
        for entry in feed.entries:
            if entry.status == "hidden":
                self.hidden[entry.id] = entry.reason
            elif self.hidden:
                self.hidden.pop(entry.id, None)
        self.number = feed.number

    def search(self, query: MemoryQuery, statuses: Collection[Status] = ACTIVE) -> list[Candidate]:
        """The most relevant memories, best first.

        Where no active one is, archived ones are searched even if `statuses` does not ask for them.
        """
        found = self.active.search(query) if "active" in statuses else []
        if len(self.archived) and ("archived" in statuses or not found):
            found = sorted([*found, *self.archived.search(query)], key=lambda one: -one.relevance)
        return found[: query.candidates]
