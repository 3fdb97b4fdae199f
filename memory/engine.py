"""What all parts of the memory stand on: storage, embeddings, clock, indexes, and safe repetition."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from thoughtcycle.memory.accesses import AccessCounter
from thoughtcycle.memory.changes import Keys
from thoughtcycle.memory.embedder import Embedder
from thoughtcycle.memory.formed import UserSettings
from thoughtcycle.memory.live import LiveBranches
from thoughtcycle.memory.masking import Mask
from thoughtcycle.memory.masks import Masks
from thoughtcycle.memory.message_shelf import MessageShelf
from thoughtcycle.memory.owners import owned as owned
from thoughtcycle.memory.queue import Queue
from thoughtcycle.memory.reading import Reading
from thoughtcycle.memory.records import MemoryRecord, as_text
from thoughtcycle.memory.shelf import BUDGET
from thoughtcycle.memory.snapshots import Snapshots
from thoughtcycle.memory.spaces import Spaces
from thoughtcycle.memory.storage.base import Conflict, Storage, Write
from thoughtcycle.memory.words import identity
from thoughtcycle.prompts.errors import InputRefused, NotAllowed, StorageFailed

_TRIES = 8

R = TypeVar("R")
Plan = Callable[[], Awaitable[tuple[Sequence[Write], R]]]
"""Reads what is stored and decides: the writes, and what to tell about them."""


class Engine:
    """Holds the open handles; its parts are `Transcript`, `Searching` and `Memory`."""

    def __init__(
        self,
        storage: Storage,
        *,
        embeddings: Embedder | None,
        clock: Callable[[], datetime],
        snapshots: Snapshots | None = None,
        index_bytes: int = BUDGET,
    ) -> None:
        """`storage` is open and stays the caller's; without `embeddings` only words are searched."""
        self._storage = storage
        self._embeddings = embeddings
        self._clock = clock
        self._model = embeddings.name if embeddings is not None else None
        self._reading = Reading(storage)
        self._accesses = AccessCounter(storage)
        self._spaces = Spaces(storage, self._model, index_bytes, snapshots)
        self._masks = Masks(storage)
        self._live = LiveBranches(storage)
        self._talks = MessageShelf(storage, embeddings, self._masks, index_bytes)
        self._warming: dict[str, asyncio.Task[None]] = {}
        self._settled: dict[str, tuple[Hashable, UserSettings]] = {}
        """What users have set, and by what to tell that it was changed since."""
        self._places: list[Callable[[str, Sequence[str], Mask], Awaitable[int]]] = []
        self.queue = Queue(storage, clock)
        """Work that nobody waits for."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def model(self) -> str | None:
        """Name of the embedding model; None: words only."""
        return self._model

    @property
    def index_memory(self) -> int:
        """Bytes that the indexes of all users take at the moment, about."""
        return self._spaces.nbytes + self._talks.nbytes

    @property
    def unreadable(self) -> bool:
        """Whether nothing can be read now; only a memory with a spool goes on then (outage.py)."""
        return False

    @property
    def waiting(self) -> bool:
        """Whether something that was said is not in the database yet, and therefore not found."""
        return False

    def lost(self, failure: StorageFailed) -> bool:
        """Whether `failure` is an outage that this memory survives."""
        return False

    def tell_outage(self, user: str) -> bool:
        """Whether the user has to be told of an outage; True once per outage."""
        return False

    async def _change(self, user: str, plan: Plan[R]) -> tuple[dict[str, MemoryRecord], R]:
        """Plans and writes until nobody was in between: the documents as stored, and what the plan tells.

        Raises Conflict when another process was faster eight times in a row.
        """

        async def attempt() -> tuple[list[MemoryRecord], R]:
            writes, told = await plan()
            return await self._storage.commit(user, writes), told

        return await self._repeat(user, attempt)

    async def _repeat(
        self, user: str, attempt: Callable[[], Awaitable[tuple[list[MemoryRecord], R]]]
    ) -> tuple[dict[str, MemoryRecord], R]:
        """As `_change`, of reading, planning and writing in one."""
        lock = self._locks.setdefault(user, asyncio.Lock())
        async with lock:
            for left in reversed(range(_TRIES)):
                try:
                    stored, told = await attempt()
                except Conflict:
                    if not left:
                        raise
                else:
                    self._reading.changed(user, stored)
                    if any(record.status == "erased" for record in stored):
                        await self._spaces.drop_snapshot(user)
                    return {record.id: record for record in stored}, told
        raise AssertionError("unreachable")

    async def _known(self, user: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """These memories, whatever their status; raises NotAllowed('memory_unknown') for one not there."""
        records = await self._storage.records(user, ids)
        found = {record.id for record in records if record.status != "erased"}
        for id in ids:
            if id not in found:
                raise NotAllowed("memory_unknown", id=repr(id))
        return records

    async def _current(self, user: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """These memories, each once; in place of one that was merged into another, that one."""
        records = await self._known(user, ids)
        names = [record.current if record.merged and record.current else record.id for record in records]
        if any(record.merged for record in records):
            records = await self._known(user, list(dict.fromkeys(names)))
        return records

    async def _active(self, user: str, id: str) -> MemoryRecord:
        """What this id stands for; raises InputRefused('memory_not_active') if that is not active."""
        record = (await self._current(user, [id]))[0]
        if record.status != "active":
            raise InputRefused("memory_not_active", id=repr(id))
        return record

    async def _keys(self, records: Iterable[MemoryRecord], data: Mapping[str, bytes]) -> Keys:
        """New vectors and those that `records` have."""
        listed = [record for record in records if record.vector_ids]
        if not listed:
            return Keys(self._model, data)
        stored = await self._storage.vectors(listed[0].space, [record.id for record in listed])
        return Keys(self._model, data, {vector.id: vector for vector in stored})

    async def _require_place(
        self, user: str, records: Sequence[MemoryRecord], code: str, *, without: Collection[str] = ()
    ) -> None:
        """Raises InputRefused(`code`) when another active memory stands where one of `records` would be.

        Of `records` those count that would be active; a memory of the ids `without` stands in nobody's way.
        """
        wanted = [record for record in records if record.status == "active"]
        standing = await self._storage.same(
            user,
            identities=[identity(record.type, record.content) for record in wanted],
            keys=[record.key for record in wanted if record.key is not None],
        )
        among = [other for other in standing if other.id not in without]
        for record in wanted:
            for other in among:
                if other.id != record.id and _same_place(record, other):
                    raise InputRefused(code, key=repr(other.key or other.text[:60]))
            among.append(record)


def _same_place(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether the two cannot both be active: one key, or the same content."""
    if one.key is not None and one.key == other.key:
        return True
    return identity(one.type, one.content) == identity(other.type, other.content)


def readable(content: Any) -> Any:
    """`content`, if all its text is Unicode; raises InputRefused('text_not_unicode') otherwise."""
    try:
        as_text(content).encode()
    except UnicodeEncodeError as error:
        raise InputRefused("text_not_unicode") from error
    return content
