"""Embeds memories and messages again after a change of the embedding model, batch by batch."""

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from thoughtcycle.errors import EmbeddingsAway, InputRefused, ModelFailed, ModelTransient
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.index import BELIEVED, LONGEST, embed, packed
from thoughtcycle.memory.model import STATUSES, MemoryRecord, Vector
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.versioning.record_writes import SearchVectors, search_keys, with_vectors

log = logging.getLogger(__name__)

_AT_ONCE = 64
"""Memories that are embedded and written in one go."""


@dataclass(frozen=True)
class Outdated:
    """Memories and messages without vectors of the present model, and the cost of embedding them."""

    memories: int = 0
    messages: int = 0
    texts: int = 0
    characters: int = 0


@dataclass(frozen=True)
class Reembedded:
    """Progress of embedding anew."""

    done: int
    total: int
    """Memories and messages, as counted at the beginning."""


class Reembedding:
    """Gives memories new vectors; meanwhile keywords serve search. Hidden memories stay as they are."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._clock = core.clock
        self._embeddings = core.embeddings
        self._model = core.model
        self._storage = core.storage
        self._messages = core.message_indexes

    async def outdated(self, user: str) -> Outdated:
        """Counts texts without vectors of the present model. Raises InputRefused('no_embeddings')."""
        stale = [record async for records in self._stale(owned(user)) for record in records]
        texts = [key for record in stale for key in search_keys(record)]
        async with self._messages.index(user) as index:
            messages = [text for _, text in index.pending.values()]
        texts += messages
        return Outdated(len(stale), len(messages), len(texts), sum(len(text[:LONGEST]) for text in texts))

    async def reembed(self, user: str) -> AsyncIterator[Reembedded]:
        """Gives memories and messages vectors of the present model; yields the progress after each batch.

        The old vectors of a memory go in the same transaction that brings its new ones, those of messages in
        the end. An interrupted run keeps its finished batches; the next call goes on from there. A text with
        a zero vector gets none and counts again next time. Raises InputRefused('no_embeddings'), ModelFailed
        when embeddings fail.
        """
        found = await self.outdated(user)
        done, total = 0, found.memories + found.messages
        async for records in self._stale(user):
            await self._embed_anew(user, records)
            done += len(records)
            yield Reembedded(min(done, total), total)
        while True:
            async with self._messages.index(user) as index:
                made = await self._messages.embed_some(user, index)
            if not made:
                break
            done += made
            yield Reembedded(min(done, total), total)
        await self._storage.transcript.drop_message_vectors(user, keep=self._require_model())

    async def embed_lacking(self, space: str, since: int) -> None:
        """Adds the vectors that memories changed after revision `since` were saved without.

        Does nothing without embeddings, and where a server has none: `reembed` then serves once it has.
        Raises ModelFailed.
        """
        if self._embeddings is None:
            return
        try:
            async for records in self._stale(space, since):
                await self._embed_anew(space, records)
        except ModelTransient:
            raise
        except ModelFailed as failure:
            if isinstance(failure, EmbeddingsAway) and failure.passing:
                raise
            log.warning("memories stay without vectors: %s", failure.code)

    async def _stale(self, user: str, after: int = 0) -> AsyncIterator[list[MemoryRecord]]:
        """Batches of the memories to be embedded, without those that change meanwhile."""
        model = self._require_model()
        newest = await self._storage.memories.journal(user, limit=1)
        last = newest[0].number if newest else 0
        while after < last and (
            page := await self._storage.memories.listing(user, STATUSES, after=after, limit=_AT_ONCE)
        ):
            after = page[-1].revision
            stored = await self._storage.memories.vectors(user, [record.id for record in page])
            if stale := [one for one in page if one.revision <= last and _stale(one, stored, model)]:
                yield stale

    async def _embed_anew(self, user: str, records: Sequence[MemoryRecord]) -> None:
        model, ids = self._require_model(), [record.id for record in records]
        texts = [key for record in records for key in search_keys(record)]
        data = packed(await embed(self._embeddings, texts))

        async def plan() -> tuple[list[Write], None]:
            stored = await self._storage.memories.vectors(user, ids)
            known = SearchVectors(model, data, {vector.id: vector for vector in stored})
            writes = []
            for record in await self._storage.memories.records(user, ids):
                vectors = known.vectors_for(record)
                if _stale(record, stored, model) and [one.id for one in vectors] != list(record.vector_ids):
                    new = with_vectors(record, vectors)
                    writes.append(Write(new, "reembed", self._clock(), before=record, vectors=vectors))
            return writes, None

        await self._core.change(user, plan)

    def _require_model(self) -> str:
        if self._model is None:
            raise InputRefused("no_embeddings")
        return self._model


def _stale(record: MemoryRecord, stored: Sequence[Vector], model: str) -> bool:
    """Whether a memory that can be found has a search key without a vector, or one of another model."""
    models = [vector.model for vector in stored if vector.memory == record.id]
    return record.status in BELIEVED and models != [model] * len(search_keys(record))
