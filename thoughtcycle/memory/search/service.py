"""Search: a user's own index gives candidates, the stored records decide, rules rank."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias, TypedDict, Unpack, overload

import numpy as np

from thoughtcycle.errors import EmbeddingsAway
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.index import (
    FLOOR,
    LONGEST,
    Candidate,
    Filters,
    MemoryQuery,
    aware,
    best_key,
    checked_recipe,
    rerank,
    unit,
)
from thoughtcycle.memory.model import Kind, Layer, MemoryHit, MemoryRecord, MessageHit, Status, file_of
from thoughtcycle.memory.text.analyzer import Term, terms
from thoughtcycle.memory.versioning.record_writes import search_keys

LONGEST_QUERY = 10_000
"""Characters of a query that are read."""
_FEW = 20_000
"""Memories that are searched on the event loop: less time than a change of threads."""
_SHORT = 20_000
"""Characters that are ranked on the event loop, for the same reason."""

Part: TypeAlias = Literal["facts", "archived", "cycles"]
"""Where a search looks."""
FACTS: tuple[Part, ...] = ("facts",)
_STATUSES: dict[Part, Status] = {"facts": "active", "archived": "archived"}


class SearchOptions(TypedDict, total=False):
    """Options of `Search.search` beside `include`."""

    vector: np.ndarray | None
    limit: int
    kinds: Collection[Kind] | None
    layers: Collection[Layer] | None
    tags: Collection[str] | None
    since: datetime | None
    until: datetime | None
    at: datetime | None
    recipe: str
    floor: float
    counted: bool


class Search:
    """Answers from the indexes of memories and messages."""

    def __init__(self, core: Core) -> None:
        self._accesses, self._clock, self._embeddings = core.accesses, core.clock, core.embeddings
        self._memories, self._record_cache = core.storage.memories, core.record_cache
        self._memory_indexes, self._message_indexes = core.memory_indexes, core.message_indexes

    @overload
    async def search(self, user: str, query: str, **options: Unpack[SearchOptions]) -> list[MemoryHit]: ...

    @overload
    async def search(
        self, user: str, query: str, *, include: Collection[Part], **options: Unpack[SearchOptions]
    ) -> Sequence[MemoryHit | MessageHit]: ...

    async def search(
        self,
        user: str,
        query: str,
        *,
        vector: np.ndarray | None = None,
        limit: int = 5,
        kinds: Collection[Kind] | None = None,
        layers: Collection[Layer] | None = None,
        tags: Collection[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        at: datetime | None = None,
        recipe: str = "adaptive",
        floor: float = FLOOR,
        include: Collection[Part] = FACTS,
        counted: bool = True,
    ) -> Sequence[MemoryHit | MessageHit]:
        """The user's memories that speak of `query`, best first; none below `floor` (0…1).

        `vector` is the query's embedding, made here when None; an empty array means words only.
        `include`: `facts` are active memories, `archived` are archived ones, which are also looked through
        when no active one is found (`record.status` tells them apart); `cycles` are messages of the
        transcript, on the live branch of their chat and with the words of hidden memories masked; the first
        search for them makes the vectors that messages lack.
        Filters of memories: of one of these `kinds`, `layers`, `tags` (each None: any), said at or after
        `since` and before `until`; a time without a zone is UTC.
        `at`: memories believed then instead, former versions included; this reads all memories of the user.
        Messages are not narrowed to it.
        `counted`: each memory returned counts as accessed once more (LM-9), which is written behind.
        `recipe` names the evidence that counts: `adaptive`, `words` or `vectors` (index/ranking.py).
        Raises InputRefused('unknown_recipe'), and ModelFailed when embeddings fail.
        """
        checked = checked_recipe(recipe)
        filters = Filters(kinds, layers, tags, aware(since), aware(until))
        text = plain_query(query)
        if limit < 1:
            return []
        if checked == "words":
            vector = np.empty(0, np.float32)
        direction = await self.query_vector(owned(user), text, vector, include)
        hits: list[MemoryHit | MessageHit] = []
        wanted = MemoryQuery(text, direction, filters, limit, floor, checked)
        if "facts" in include or "archived" in include:
            hits += await (self._past(user, wanted, at) if at else self.memories(user, wanted, include))
        if "cycles" in include:
            hits += await self._messages(user, wanted)
        best = sorted(hits, key=lambda hit: -hit.relevance)[:limit]
        if counted:
            memories = [hit.record.id for hit in best if isinstance(hit, MemoryHit)]
            self._accesses.note(user, memories, self._clock())
        return best

    async def memories(self, user: str, query: MemoryQuery, include: Collection[Part]) -> list[MemoryHit]:
        """The hits of `query` among active and archived memories, as `include` says."""
        if query.limit < 1:
            return []
        statuses: list[Status] = [status for part, status in _STATUSES.items() if part in include]
        found = await self.candidates(user, query, statuses)
        read = await self._record_cache.records(user, {one.memory: one.revision for one in found})
        records = {
            id: record
            for id, record in read.items()
            if record.status in ("active", "archived") and query.filters.match(record)
        }
        return await self._ranked(query, found, records)

    async def candidates(self, user: str, query: MemoryQuery, statuses: Sequence[Status]) -> list[Candidate]:
        """Memories that the user's index finds, before they are reranked."""
        async with self._memory_indexes.index(user) as index:
            if len(index) <= _FEW:
                return index.search(query, statuses)
            return await asyncio.to_thread(index.search, query, statuses)

    async def _past(self, user: str, query: MemoryQuery, at: datetime) -> list[MemoryHit]:
        """Memories believed at `at`, from an index made for this search alone."""
        index = await self._memory_indexes.past(user, aware(at))
        found = await asyncio.to_thread(index.search, query)
        stored = await self._memories.records(user, [one.memory for one in found])
        records = {record.id: record for record in stored if record.status not in ("hidden", "erased")}
        return await self._ranked(query, found, records)

    async def _ranked(
        self, query: MemoryQuery, found: Sequence[Candidate], records: Mapping[str, MemoryRecord]
    ) -> list[MemoryHit]:
        now = self._clock()
        if sum(len(record.text) for record in records.values()) < _SHORT:
            return ranked(query, found, records, now)
        return await asyncio.to_thread(ranked, query, found, records, now)

    async def _messages(self, user: str, query: MemoryQuery) -> list[MessageHit]:
        async with self._message_indexes.index(user) as index:
            if query.vector is not None:
                await self._message_indexes.embed_missing(user, index)
            return await asyncio.to_thread(
                index.search, query.text, query.vector, limit=query.limit, floor=query.floor
            )

    async def changed(self, user: str, known: Mapping[str, int]) -> dict[str, MemoryRecord | None]:
        """The memories of `known` (id → revision) that changed, as they are now; None: no longer active.

        One that was merged into another is given as that one. Reads no record that did not change.
        """
        async with self._memory_indexes.index(owned(user)) as index:
            now = {id: index.active.revision(id) for id in known}
        moved = [id for id, revision in known.items() if now[id] != revision]
        found = await self._memories.records(user, moved) if moved else []
        merged = {record.id: record.current for record in found if record.merged and record.current}
        if merged:
            found += await self._memories.records(user, list(merged.values()))
        active = {record.id: record for record in found if record.status == "active"}
        return {id: active.get(merged.get(id, id)) for id in moved}

    async def query_vector(
        self, user: str, query: str, vector: np.ndarray | None, include: Collection[Part]
    ) -> np.ndarray | None:
        """`vector`, or that of `query`, of unit length; None where there is nothing to compare it with.

        Words alone count then, and where a server has no embeddings.
        """
        if vector is not None:
            return unit(vector)
        if self._embeddings is None or not query.strip():
            return None
        comparable = ("cycles" in include and await self._message_indexes.has_content(user)) or (
            not {"facts", "archived"}.isdisjoint(include) and await self._memory_indexes.has_content(user)
        )
        if not comparable:
            return None
        try:
            return unit(await self._embeddings.aembed_query(query[:LONGEST]))
        except EmbeddingsAway:  # told once by the breaker
            return None


def plain_query(query: str) -> str:
    """`query` without lone surrogates, cut to `LONGEST_QUERY`."""
    return query[:LONGEST_QUERY].encode(errors="ignore").decode()


def ranked(
    query: MemoryQuery, found: Sequence[Candidate], records: Mapping[str, MemoryRecord], now: datetime
) -> list[MemoryHit]:
    """Candidates as hits: reranked by weight and recency, cut to the limit, with the key that matched."""
    scored = [
        (rerank(one.relevance, record, now), record, one.nearest)
        for one in found
        if (record := records.get(one.memory)) is not None
    ]
    scored.sort(key=lambda one: -one[0])
    return [
        MemoryHit(record=record, relevance=score, matched=_matched(record, query.terms, nearest))
        for score, record, nearest in scored[: query.limit]
    ]


def _matched(record: MemoryRecord, wanted: Sequence[Term], nearest: int | None) -> str:
    """The search key that answers best: by shared words, else the one of the nearest vector."""
    if not record.bindings:
        return record.text
    keys = search_keys(record)
    if (key := best_key(wanted, keys)) is not None:
        return key
    # One vector per key, unless one had no direction.
    return keys[nearest] if nearest is not None and len(keys) == len(record.vector_ids) else record.text


def as_found(hit: MemoryHit, query: str) -> MemoryRecord:
    """A memory as it answers `query`: of a file the piece of its text that shares most words with it."""
    file = file_of(hit.record.content) is not None
    piece = best_key(terms(query), hit.record.bindings) if file else None
    return (hit if piece is None else hit.model_copy(update={"matched": piece})).shown
