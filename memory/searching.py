"""Finding memories: a user's own index gives candidates, the documents decide, rules rank."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import numpy as np

from thoughtcycle.memory import embedder
from thoughtcycle.memory.branches import REASON
from thoughtcycle.memory.changes import search_keys
from thoughtcycle.memory.engine import Engine, owned
from thoughtcycle.memory.index import Found
from thoughtcycle.memory.ranking import FLOOR, best_key, rerank
from thoughtcycle.memory.records import Kind, MemoryHit, MemoryRecord
from thoughtcycle.memory.words import terms

CANDIDATES = 10
"""Memories that are reranked (HM-9)."""
LONGEST_QUERY = 10_000
"""Characters of a query that are read."""


class Searching(Engine):
    """Search and what else is answered from the index."""

    async def embed(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Text → vector (float32, unit length), all asked in one call; {} without embeddings."""
        return await embedder.embed(self._embeddings, texts)

    async def search(
        self,
        user: str,
        query: str,
        *,
        vector: np.ndarray | None = None,
        limit: int = 5,
        kinds: Collection[Kind] | None = None,
        floor: float = FLOOR,
    ) -> list[MemoryHit]:
        """The user's active memories that speak of `query`, best first; none below `floor` (0…1).

        `vector` is the query's embedding, made here when None; an empty array means words only.
        """
        owned(user)
        query = query[:LONGEST_QUERY].encode(errors="ignore").decode()
        if limit < 1:
            return []
        direction = await self._direction(user, query, vector)
        async with self._spaces.index(user) as index:
            found = await asyncio.to_thread(
                index.search, query, direction, kinds=kinds, limit=max(CANDIDATES, limit), floor=floor
            )
        stored = await self._storage.records(user, [one.memory for one in found])
        records = {record.id: record for record in stored if record.status == "active"}
        return await asyncio.to_thread(ranked, query, found, records, self._clock(), limit)

    async def hidden(self, user: str) -> list[MemoryRecord]:
        """What the user had taken out of sight; neither abandoned branches nor undone saves."""
        async with self._spaces.index(owned(user)) as index:
            ids = [id for id, reason in index.hidden.items() if reason not in (REASON, "undone")]
        return await self._storage.records(user, ids) if ids else []

    async def _direction(self, user: str, query: str, vector: np.ndarray | None) -> np.ndarray | None:
        if vector is not None:
            return embedder.unit(vector)
        if self._embeddings is None or not query.strip():
            return None
        if not self._spaces.filled(user):
            async with self._spaces.index(user) as index:
                if not len(index):
                    return None
        return embedder.unit(await self._embeddings.aembed_query(query[: embedder.LONGEST]))


def ranked(
    query: str, found: Sequence[Found], records: Mapping[str, MemoryRecord], now: datetime, limit: int
) -> list[MemoryHit]:
    """Candidates as hits: reranked by weight and recency, cut to `limit`, with the key that matched."""
    words = terms(query)
    scored = [
        (rerank(one.relevance, records[one.memory], now), one) for one in found if one.memory in records
    ]
    scored.sort(key=lambda pair: -pair[0])
    hits = []
    for score, one in scored[:limit]:
        record = records[one.memory]
        matched = best_key(words, search_keys(record.content, record.bindings)) or one.nearest
        hits.append(MemoryHit(record=record, relevance=score, matched=matched or record.text))
    return hits
