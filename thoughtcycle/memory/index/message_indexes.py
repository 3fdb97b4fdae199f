"""The message indexes in use, caught up from closed cycles before each search that asks for them."""

import asyncio
from collections.abc import Hashable
from itertools import islice

from thoughtcycle.memory.index.cache import BUDGET, Shelf
from thoughtcycle.memory.index.embedder import Embedder, embed, packed
from thoughtcycle.memory.index.message_index import MessageIndex
from thoughtcycle.memory.model import MessageVector
from thoughtcycle.memory.redaction import Masks
from thoughtcycle.memory.storage import CycleFeed, Storage
from thoughtcycle.memory.text import digest

_AT_ONCE = 256
"""Texts that are embedded and kept in one go; what was kept stays when a later one fails."""

_FEW, _SHORT = 4, 8_000
"""Cycles, and characters of them, that are taken in at once."""


class MessageShelf(Shelf[MessageIndex]):
    """One index of messages per user; made from words, and from vectors as far as they were asked for."""

    def __init__(
        self, storage: Storage, embeddings: Embedder | None, masks: Masks, budget: int = BUDGET
    ) -> None:
        """`masks` take out of what was said what is hidden."""
        super().__init__(budget)
        self._storage, self._embeddings, self._masks = storage, embeddings, masks

    async def complete(self, user: str, index: MessageIndex) -> None:
        """Makes and keeps the vectors that messages of `index` lack; raises ModelFailed."""
        while await self.complete_some(user, index):
            pass

    async def complete_some(self, user: str, index: MessageIndex) -> int:
        """Makes and keeps some of the vectors that messages of `index` lack; 0 when none does."""
        if self._embeddings is None:
            return 0
        some = dict(islice(index.pending.items(), _AT_ONCE))
        data = packed(await embed(self._embeddings, [text for _, text in some.values()]))
        name = self._embeddings.name
        made = {
            slot: MessageVector(cycle=cycle, digest=digest(text), model=name, data=data[text])
            for slot, (cycle, text) in some.items()
            if text in data
        }
        if made:
            await self._storage.transcript.keep_message_vectors(user, list(made.values()))
            index.put(made)
            self._weigh(user)
        for slot in some:  # also those whose text has no direction
            index.pending.pop(slot, None)
        return len(some)

    def _pulse(self, user: str) -> Hashable:
        return self._storage.glimpse(user)

    def _fresh(self) -> MessageIndex:
        return MessageIndex()

    async def _caught_up(self, user: str, index: MessageIndex) -> MessageIndex:
        model = self._embeddings.name if self._embeddings is not None else None
        mask, feed = await asyncio.gather(
            self._masks.of(user), self._storage.transcript.cycle_feed(user, index.number, model=model)
        )
        if mask != index.mask or feed.number < index.number:  # less: another file is in this one's place
            index = MessageIndex(mask)
            feed = await self._storage.transcript.cycle_feed(user, 0, model=model)
        if feed.number == index.number:
            return index
        if _small(feed):
            index.apply(feed)
        else:
            await asyncio.to_thread(index.apply, feed)
        return index


def _small(feed: CycleFeed) -> bool:
    """Whether the index takes it in faster than another thread would begin."""
    if len(feed.cycles) > _FEW:
        return False
    said = (len(message.text) for cycle in feed.cycles for message in (cycle.message, *cycle.replies))
    return sum(said) < _SHORT
