"""A space's derived index: active memories and, apart, archived ones; a cache made from documents alone."""

from collections.abc import Collection
from functools import partial

import numpy as np

from thoughtcycle.memory.index.corpus import Corpus, Found
from thoughtcycle.memory.index.filters import ALL, Filters
from thoughtcycle.memory.index.item_values import Values
from thoughtcycle.memory.index.ranking import FLOOR
from thoughtcycle.memory.index.recipes import Recipe, adaptive
from thoughtcycle.memory.model import Status
from thoughtcycle.memory.storage import Feed
from thoughtcycle.memory.text import terms

ACTIVE: tuple[Status, ...] = ("active",)


class SpaceIndex:
    """The memories of one user, as of journal row `number`. CPU-bound, not thread-safe.

    Its statistics are its own: nothing of another space has any part in a score (BY-5), and nothing that is
    archived in that of an active memory.
    """

    def __init__(self) -> None:
        self.number = 0
        self.hidden: dict[str, str | None] = {}
        """Ids of hidden memories, with the reason."""
        self.active, self.archived = Corpus(), Corpus()
        self.values = Values()
        """Active items, as far as a search has asked what they say."""

    def __len__(self) -> int:
        """How many memories can be found."""
        return len(self.active) + len(self.archived)

    @property
    def nbytes(self) -> int:
        """Memory used, about."""
        return self.active.nbytes + self.archived.nbytes + self.values.nbytes + 200 * len(self.hidden)

    def revision(self, memory: str) -> int | None:
        """Of an active memory; None for any other."""
        return self.active.revision(memory)

    def apply(self, feed: Feed) -> None:
        """Brings the index up to `feed.number`: each memory in the feed replaces what was known of it."""
        changed = [entry.id for entry in feed.entries]
        self.values.drop(changed)
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

    def search(
        self,
        query: str,
        vector: np.ndarray | None,
        *,
        statuses: Collection[Status] = ACTIVE,
        filters: Filters = ALL,
        limit: int = 10,
        floor: float = FLOOR,
        recipe: Recipe = adaptive,
    ) -> list[Found]:
        """The `limit` most relevant memories, best first; those below `floor` are not related.

        Where no active one is, archived ones are looked through even if `statuses` does not ask for them.
        """
        look = partial(
            Corpus.search,
            query=terms(query),
            vector=vector,
            filters=filters,
            limit=limit,
            floor=floor,
            recipe=recipe,
        )
        found = look(self.active) if "active" in statuses else []
        if len(self.archived) and ("archived" in statuses or not found):
            found = sorted([*found, *look(self.archived)], key=lambda one: -one.relevance)
        return found[:limit]
