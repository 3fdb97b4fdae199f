"""Finding memories: a user's own index gives candidates, the documents decide, rules rank."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias, overload

import numpy as np

from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.index import (
    ACTIVE,
    DEFAULT,
    FLOOR,
    LONGEST,
    Filters,
    Found,
    Recipe,
    SpaceIndex,
    aware,
    best_key,
    recipe_of,
    rerank,
    unit,
    words,
)
from thoughtcycle.memory.model import Kind, Layer, MemoryHit, MemoryRecord, MessageHit, Status, file_of
from thoughtcycle.memory.redaction import out_of_sight
from thoughtcycle.memory.text import Term, terms
from thoughtcycle.memory.versioning import search_keys

CANDIDATES = 10
"""Memories that are reranked (HM-9)."""
LONGEST_QUERY = 10_000
"""Characters of a query that are read."""
_FEW = 20_000
"""Memories that are searched at once: a change of threads costs as much as the moment that it takes."""
_SHORT = 20_000
"""Characters that are ranked at once, for the same reason."""

Part: TypeAlias = Literal["facts", "archived", "cycles"]
"""What a search looks through."""
FACTS: tuple[Part, ...] = ("facts",)
_STATUSES: dict[Part, Status] = {"facts": "active", "archived": "archived"}


@dataclass(frozen=True)
class Look:
    """A search of memories, made ready."""

    query: str
    direction: np.ndarray | None
    filters: Filters
    limit: int
    floor: float
    recipe: Recipe

    def among(self, index: SpaceIndex, statuses: Collection[Status]) -> list[Found]:
        """Candidates of these statuses, more than are asked for, because they are ranked again."""
        return index.search(
            self.query,
            self.direction,
            statuses=statuses,
            filters=self.filters,
            limit=max(CANDIDATES, self.limit),
            floor=self.floor,
            recipe=self.recipe,
        )


class Search:
    """Search and what else is answered from the index."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._accesses = core.accesses
        self._clock = core.clock
        self._embeddings = core.embeddings
        self._reading = core.record_cache
        self._spaces = core.indexes
        self._storage = core.storage
        self._talks = core.messages

    @overload
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
        recipe: str = DEFAULT,
        floor: float = FLOOR,
        counted: bool = True,
    ) -> list[MemoryHit]: ...

    @overload
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
        recipe: str = DEFAULT,
        floor: float = FLOOR,
        include: Collection[Part],
        counted: bool = True,
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
        recipe: str = DEFAULT,
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
        `at`: what was believed then instead of what is now, former versions included; this reads all
        memories of the user, and takes as long. Messages are not narrowed to it.
        `counted`: each memory returned counts as accessed once more (LM-9), which is written behind.
        `recipe` names how evidence is weighed: `adaptive`, `words` or `vectors` (index/recipes.py).
        Raises InputRefused('unknown_recipe'), and ModelFailed when embeddings fail.
        """
        weigh = recipe_of(recipe)
        filters = Filters(kinds, layers, tags, aware(since), aware(until))
        query = plain_query(query)
        if limit < 1:
            return []
        if weigh is words:
            vector = np.empty(0, np.float32)
        direction = await self.direction(owned(user), query, vector, include)
        hits: list[MemoryHit | MessageHit] = []
        look = Look(query, direction, filters, limit, floor, weigh)
        if "facts" in include or "archived" in include:
            hits += await (self._past(user, look, at) if at is not None else self.facts(user, look, include))
        if "cycles" in include:
            hits += await self._messages(user, query, direction, limit, floor)
        best = sorted(hits, key=lambda hit: -hit.relevance)[:limit]
        if counted:
            memories = [hit.record.id for hit in best if isinstance(hit, MemoryHit)]
            self._accesses.note(user, memories, self._clock())
        return best

    async def facts(self, user: str, look: "Look", include: Collection[Part]) -> list[MemoryHit]:
        statuses: list[Status] = [status for part, status in _STATUSES.items() if part in include]
        found = await self.among(user, look, statuses)
        read = await self._reading.records(user, {one.memory: one.revision for one in found})
        records = {
            id: record
            for id, record in read.items()
            if record.status in ("active", "archived") and look.filters.fit(record)
        }
        return await self._ranked(look, found, records)

    async def among(self, user: str, look: "Look", statuses: Sequence[Status]) -> list[Found]:
        async with self._spaces.index(user) as index:
            if len(index) <= _FEW:
                return look.among(index, statuses)
            return await asyncio.to_thread(look.among, index, statuses)

    async def _past(self, user: str, look: "Look", at: datetime) -> list[MemoryHit]:
        """What was believed at `at`, from an index made for this search alone."""
        index = await self._spaces.past(user, aware(at))
        found = await asyncio.to_thread(look.among, index, ACTIVE)
        stored = await self._storage.memories.records(user, [one.memory for one in found])
        records = {record.id: record for record in stored if record.status not in ("hidden", "erased")}
        return await self._ranked(look, found, records)

    async def _ranked(
        self, look: "Look", found: Sequence[Found], records: Mapping[str, MemoryRecord]
    ) -> list[MemoryHit]:
        now = self._clock()
        if sum(len(record.text) for record in records.values()) < _SHORT:
            return ranked(look.query, found, records, now, look.limit)
        return await asyncio.to_thread(ranked, look.query, found, records, now, look.limit)

    async def _messages(
        self, user: str, query: str, direction: np.ndarray | None, limit: int, floor: float
    ) -> list[MessageHit]:
        async with self._talks.index(user) as index:
            if direction is not None:
                await self._talks.complete(user, index)
            return await asyncio.to_thread(index.search, query, direction, limit=limit, floor=floor)

    async def hidden(self, user: str) -> list[MemoryRecord]:
        """What the user had taken out of sight; neither abandoned branches nor undone saves."""
        async with self._spaces.index(owned(user)) as index:
            ids = sorted(out_of_sight(index.hidden))
        records = await self._storage.memories.records(user, ids) if ids else []
        return [record for record in records if record.status == "hidden"]

    async def changed(self, user: str, known: Mapping[str, int]) -> dict[str, MemoryRecord | None]:
        """What of `known` (id → revision) reads otherwise now; None: not active any more.

        One that was merged into another reads as that one. Reads no document of those that did not change.
        """
        async with self._spaces.index(owned(user)) as index:
            now = {id: index.revision(id) for id in known}
        moved = [id for id, revision in known.items() if now[id] != revision]
        found = await self._storage.memories.records(user, moved) if moved else []
        merged = {record.id: record.current for record in found if record.merged and record.current}
        if merged:
            found += await self._storage.memories.records(user, list(merged.values()))
        active = {record.id: record for record in found if record.status == "active"}
        return {id: active.get(merged.get(id, id)) for id in moved}

    async def direction(
        self, user: str, query: str, vector: np.ndarray | None, include: Collection[Part]
    ) -> np.ndarray | None:
        """The query's vector; None where it is not wanted, or there is nothing to compare it with."""
        if vector is not None:
            return unit(vector)
        if self._embeddings is None or not query.strip():
            return None
        if not (not {"facts", "archived"}.isdisjoint(include) and await self._spaces.filled(user)) and not (
            "cycles" in include and await self._talks.filled(user)
        ):
            return None
        return unit(await self._embeddings.aembed_query(query[:LONGEST]))


def plain_query(query: str) -> str:
    """What is read of a query: not all of a very long one, and only Unicode."""
    return query[:LONGEST_QUERY].encode(errors="ignore").decode()


def ranked(
    query: str, found: Sequence[Found], records: Mapping[str, MemoryRecord], now: datetime, limit: int
) -> list[MemoryHit]:
    """Candidates as hits: reranked by weight and recency, cut to `limit`, with the key that matched."""
    scored = [
        (rerank(one.relevance, record, now), record, one.nearest)
        for one in found
        if (record := records.get(one.memory)) is not None
    ]
    scored.sort(key=lambda one: -one[0])
    best = scored[:limit]
    wanted = terms(query) if any(record.bindings for _, record, _ in best) else []
    return [
        MemoryHit(record=record, relevance=score, matched=_matched(record, wanted, nearest))
        for score, record, nearest in best
    ]


def _matched(record: MemoryRecord, wanted: Sequence[Term], nearest: int | None) -> str:
    """The search key that answers best: the words decide, then the vectors."""
    if not record.bindings:
        return record.text
    keys = search_keys(record)
    return best_key(wanted, keys) or nearest_key(keys, nearest, len(record.vector_ids)) or record.text


def as_found(hit: MemoryHit, query: str) -> MemoryRecord:
    """A memory as it answers `query`: of a file the piece of its text that shares most words with it."""
    file = file_of(hit.record.content) is not None
    piece = best_key(terms(query), hit.record.bindings) if file else None
    return (hit if piece is None else hit.model_copy(update={"matched": piece})).shown


def nearest_key(keys: Sequence[str], place: int | None, vectors: int) -> str | None:
    """The search key of the vector at `place`: there is one per key, unless one had no direction."""
    return keys[place] if place is not None and len(keys) == vectors else None
