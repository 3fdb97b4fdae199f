"""Core: the handles that all services share, and the unit of work: plan, write, repeat on conflict."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from weakref import WeakValueDictionary

import numpy as np

from thoughtcycle.errors import (
    Code,
    EmbeddingsAway,
    InputRefused,
    MemoryNotActive,
    MemoryUnknown,
    ModelFailed,
    StorageFailed,
)
from thoughtcycle.memory.core.access_counter import AccessCounter
from thoughtcycle.memory.core.availability import Availability
from thoughtcycle.memory.core.caches import BranchCache, RecordCache
from thoughtcycle.memory.core.job_queue import JobQueue
from thoughtcycle.memory.index import (
    BELIEVED,
    BUDGET,
    CircuitBreaker,
    Embedder,
    MemoryIndexes,
    MessageIndexes,
    embed,
)
from thoughtcycle.memory.model import MemoryRecord, new_job, owner_of
from thoughtcycle.memory.model import owned as owned
from thoughtcycle.memory.redaction import Mask, Masks
from thoughtcycle.memory.storage import Conflict, Storage, Write
from thoughtcycle.memory.text.analyzer import identity
from thoughtcycle.memory.versioning.record_writes import SearchVectors, search_keys

log = logging.getLogger(__name__)

EMBED = "embed"
"""Kind of the jobs that add the vectors which a save went without."""
SAVE_SECONDS = 1.0
"""Longest wait of a save for its vectors."""
_MISSED = 10_000
"""Texts known as not embedded in time, the latest; `reembed` finds all."""
_TRIES = 8

R = TypeVar("R")
Plan = Callable[[], Awaitable[tuple[Sequence[Write], R]]]
"""Reads the stored state and decides: the writes, and a result for the caller."""


class Core:
    """The open handles of one memory, and the writes that repeat on conflict."""

    def __init__(
        self,
        storage: Storage,
        *,
        embeddings: Embedder | None,
        clock: Callable[[], datetime],
        index_bytes: int = BUDGET,
        availability: Availability | None = None,
    ) -> None:
        """`storage` is open and stays the caller's; without `embeddings` only words are searched."""
        self.storage = storage
        self.availability = availability or Availability()
        self.embeddings = embeddings = CircuitBreaker(embeddings) if embeddings is not None else None
        self.clock = clock
        self.model = embeddings.name if embeddings is not None else None
        """Name of the embedding model; None: words only."""
        self.record_cache = RecordCache(storage.memories)
        self.accesses = AccessCounter(storage.memories)
        self.memory_indexes = MemoryIndexes(storage, self.model, index_bytes)
        self.redactors = Masks(storage)
        self.branches = BranchCache(storage.transcript)
        self.message_indexes = MessageIndexes(storage, embeddings, self.redactors, index_bytes)
        self.checkpoint_erasers: list[Callable[[str, Sequence[str], Mask], Awaitable[int]]] = []
        self.queue = JobQueue(storage.jobs, clock)
        self._missed: dict[int, None] = {}
        """Hashes of texts that were not embedded in time."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def embed(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Text → vector (float32, unit length), all asked in one call; {} without embeddings."""
        return await embed(self.embeddings, texts)

    async def embed_to_save(
        self, texts: Sequence[str], seconds: float | None = SAVE_SECONDS
    ) -> dict[str, np.ndarray]:
        """As `embed`, for a save: {} where the model fails or takes longer than `seconds` (None: no limit).

        Vectors that a save went without follow by a job.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self.embed(texts)
        except (ModelFailed, TimeoutError) as failure:
            missed = dict.fromkeys(map(hash, texts))
            self._missed = dict([*(self._missed | missed).items()][-_MISSED:])
            log.info("saved without vectors: %s", failure if isinstance(failure, ModelFailed) else "too slow")
            return {}

    def embedding_notice(self) -> EmbeddingsAway | None:
        """The failure since which memories are found by words alone, once; None when all is well or told."""
        return self.embeddings.take_notice() if self.embeddings is not None else None

    async def change(self, user: str, plan: Plan[R]) -> tuple[dict[str, MemoryRecord], R]:
        """Plans and writes, again after a conflict; returns the records as stored and the plan's result.

        Raises Conflict when another process was faster eight times in a row.
        """

        async def attempt() -> tuple[list[MemoryRecord], R]:
            writes, result = await plan()
            return await self.storage.memories.commit(user, writes), result

        return await self.repeat(user, attempt)

    async def repeat(
        self, user: str, attempt: Callable[[], Awaitable[tuple[list[MemoryRecord], R]]]
    ) -> tuple[dict[str, MemoryRecord], R]:
        """As `change`, for an `attempt` that reads, plans and writes in one transaction."""
        lock = self._locks.setdefault(user, asyncio.Lock())
        async with lock:
            for remaining in reversed(range(_TRIES)):
                try:
                    stored, result = await attempt()
                except Conflict:
                    if not remaining:
                        raise
                else:
                    self.record_cache.changed(user, stored)
                    await self._embed_later(user, stored)
                    return {record.id: record for record in stored}, result
        raise AssertionError("unreachable")

    async def _embed_later(self, space: str, stored: Iterable[MemoryRecord]) -> None:
        """Queues the vectors that these records lack, unless the server is known to have no embeddings."""
        if not self._missed or self.embeddings is None or self.embeddings.refused:
            return
        lacking = [
            record.revision
            for record in stored
            if record.status in BELIEVED
            and len(record.vector_ids) < len(keys := search_keys(record))
            and not self._missed.keys().isdisjoint(map(hash, keys))
        ]
        if lacking:
            user, since = owner_of(space), min(lacking) - 1
            job = new_job(EMBED, space, user=user, due=self.clock(), items=space != user, since=since)
            try:
                await self.queue.put(job)
            except StorageFailed as failure:  # the change itself is stored
                log.warning("vectors are not made later: %s", failure.code)

    async def change_records(
        self, user: str, ids: Iterable[str], plan: Callable[[list[MemoryRecord]], Awaitable[Sequence[Write]]]
    ) -> list[MemoryRecord]:
        """Changes these memories (see `current`), all or none, by the writes that `plan` makes of them.

        Returns them as stored. Raises MemoryUnknown before anything changes.
        """
        wanted = list(dict.fromkeys(ids))

        async def attempt() -> tuple[Sequence[Write], list[MemoryRecord]]:
            records = await self.current(user, wanted)
            return await plan(records), records

        stored, before = await self.change(owned(user), attempt)
        return [stored.get(record.id, record) for record in before]

    async def known(self, user: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """These memories, whatever their status; raises MemoryUnknown for one not there."""
        records = await self.storage.memories.records(user, ids)
        found = {record.id for record in records if record.status != "erased"}
        for id in ids:
            if id not in found:
                raise MemoryUnknown(id)
        return records

    async def current(self, user: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """These memories, each once; one that was merged into another is given as that one."""
        records = await self.known(user, ids)
        if any(record.merged for record in records):
            names = [record.current if record.merged and record.current else record.id for record in records]
            records = await self.known(user, list(dict.fromkeys(names)))
        return records

    async def active(self, user: str, id: str) -> MemoryRecord:
        """The memory that this id stands for; raises MemoryNotActive if it is not active."""
        record = (await self.current(user, [id]))[0]
        if record.status != "active":
            raise MemoryNotActive(id)
        return record

    async def search_vectors(
        self, records: Iterable[MemoryRecord], data: Mapping[str, bytes]
    ) -> SearchVectors:
        """The vectors at hand for a change: new ones (text → bytes) and those that `records` have."""
        listed = [record for record in records if record.vector_ids]
        if not listed:
            return SearchVectors(self.model, data)
        stored = await self.storage.memories.vectors(listed[0].space, [record.id for record in listed])
        return SearchVectors(self.model, data, {vector.id: vector for vector in stored})

    async def require_place(
        self, user: str, records: Sequence[MemoryRecord], code: Code, *, without: Collection[str] = ()
    ) -> None:
        """Raises InputRefused(`code`) when another active memory has the key or content of one of `records`.

        Only those of `records` count that would be active; memories of the ids `without` are ignored.
        """
        wanted = [record for record in records if record.status == "active"]
        existing = await self.storage.memories.same(
            user,
            identities=[_identity(record) for record in wanted],
            keys=[record.key for record in wanted if record.key is not None],
        )
        others = [other for other in existing if other.id not in without]
        for record in wanted:
            for other in others:
                same_key = record.key is not None and record.key == other.key
                same = same_key or _identity(record) == _identity(other)
                if same and other.id != record.id:
                    raise InputRefused(code, key=repr(other.key or other.text[:60]))
            others.append(record)


def _identity(record: MemoryRecord) -> str:
    return identity(record.type, record.content)
