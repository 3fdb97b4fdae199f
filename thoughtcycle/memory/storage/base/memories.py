"""The port of memories, their vectors and their journal."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, TypeVar

from thoughtcycle.errors import StorageFailed
from thoughtcycle.memory.model import Access, JournalEntry, Kind, Layer, MemoryRecord, Op, Status, Vector

R = TypeVar("R")
Names: TypeAlias = Collection[str] | None
"""Ids to which a query is restricted; None: no restriction."""


class Conflict(StorageFailed):
    """A write met another revision than it expected, or a key that another active memory holds.

    Nothing was written: read again, decide again, write again.
    """

    def __init__(self) -> None:
        super().__init__("storage_conflict")


@dataclass(frozen=True)
class Write:
    """One change of one memory: its document, its vectors and the journal row."""

    record: MemoryRecord
    """The document after the change; its `revision` is set by the storage."""
    op: Op
    at: datetime
    before: MemoryRecord | None = None
    """The document before the change, at the revision that must still be stored; None: there must be none."""
    vectors: tuple[Vector, ...] | None = None
    """All of its vectors after the change, in the order of `record.vector_ids`; None: as they are."""
    cycle: str | None = None
    undoes: int | None = None

    @property
    def remembered(self) -> MemoryRecord | None:
        """The former record for the journal, without erased or redacted content."""
        if self.op == "redact" and self.before is not None:
            return self.record.model_copy(update={"revision": self.before.revision})
        return None if self.op == "erase" else self.before


@dataclass(frozen=True)
class Lookup:
    """Names the stored memories that matter to a save."""

    identities: Collection[str]
    """Of active memories (`analyzer.identity`)."""
    keys: Collection[str]
    """Of active memories."""
    ids: Sequence[str]
    """Of memories whatever their status."""


@dataclass(frozen=True)
class ExistingRecords:
    """The stored memories that a lookup found."""

    records: Sequence[MemoryRecord]
    """The named records, and the ones into which named ones were merged."""
    vectors: Sequence[Vector] = ()
    """All vectors of those that hold one of the keys."""

    def merged(self) -> list[str]:
        """Ids of the memories into which others of these were merged."""
        return [record.current for record in self.records if record.merged and record.current]

    def holding(self, keys: Collection[str]) -> list[str]:
        """Ids of those that have vectors and hold one of these keys."""
        return [record.id for record in self.records if record.key in keys and record.vector_ids]


class StoredItem(NamedTuple):
    """An item that an app keeps by key: a tuple, because a filter looks at ten thousand at once."""

    id: str
    key: str | None
    content: Any
    created: datetime
    changed: datetime
    """When it was last put, even unchanged."""


class Entry(NamedTuple):
    """The index entry of a memory: a tuple, because there may be a hundred thousand at once."""

    id: str
    revision: int
    status: Status
    reason: str | None
    """Why it is hidden."""
    kind: Kind | None
    layer: Layer
    tags: tuple[str, ...]
    said: datetime
    """Its `valid_from`."""
    texts: tuple[str, ...]
    """Its content and bindings."""


@dataclass(frozen=True)
class Block:
    """Vectors of one dimension, one after the other in one buffer."""

    dimension: int
    owners: Sequence[tuple[str, int]]
    """Of each vector the memory, and its place among those that the memory lists."""
    data: bytes | bytearray
    """float32, little-endian."""


@dataclass(frozen=True)
class Feed:
    """Changes that an index has not seen yet."""

    number: int
    """Last journal number up to which all changes are in."""
    entries: Sequence[Entry]
    """The memories that changed, as they are now (from 0: all active, archived and hidden ones)."""
    blocks: Sequence[Block]
    """The vectors of the active and archived ones among them, of one model."""


class Memories(ABC):
    """Documents, vectors and journal of each space; nothing of another space is read or written."""

    @abstractmethod
    async def commit(self, space: str, writes: Sequence[Write]) -> list[MemoryRecord]:
        """Makes the changes, numbers each in the space's journal, and returns the documents as stored.

        All or nothing where the database has transactions. Where it has not, in the given order, each
        change by itself so that no reader sees a document without its journal row for good (a document
        carries the number of its row): callers order writes so that a crash between two does no harm.
        A write with the op `erase` also empties what earlier journal rows of its memory keep.
        Raises Conflict when `before` is not what is stored, or an active memory holds the same `key`.
        """

    @abstractmethod
    async def save(
        self, space: str, lookup: Lookup, plan: Callable[[ExistingRecords], tuple[Sequence[Write], R]]
    ) -> tuple[list[MemoryRecord], R]:
        """Looks up existing records and commits the writes of `plan`; returns its result R too.

        `plan` must be pure: it runs on any thread. One transaction where the backend can. Raises as `commit`.
        """

    @abstractmethod
    async def records(self, space: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """The documents with these ids, whatever their status, in this order; unknown ids are left out."""

    @abstractmethod
    async def same(
        self, space: str, *, identities: Collection[str], keys: Collection[str]
    ) -> list[MemoryRecord]:
        """Active documents that say the same (`analyzer.identity`) or hold one of these keys."""

    @abstractmethod
    async def versions(self, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        """Documents whose `current` is one of these ids, erased ones aside; the latest `valid_to` first."""

    @abstractmethod
    async def of_cycles(self, space: str, cycles: Collection[str]) -> list[MemoryRecord]:
        """Active, archived and hidden documents whose source is one of these cycles."""

    @abstractmethod
    async def listing(
        self,
        space: str,
        statuses: Collection[Status],
        *,
        key: str | None = None,
        after: int | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[MemoryRecord]:
        """Documents of these statuses (with this `key`), the last changed first.

        With `after`: those whose revision is above it, by revision; then `limit` is needed. One that changes
        between two such pages comes again, as it is then.
        """

    @abstractmethod
    async def vectors(self, space: str, memories: Collection[str]) -> list[Vector]:
        """All vectors of these memories."""

    @abstractmethod
    async def journal(
        self,
        space: str,
        *,
        memories: Names = None,
        before: int | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> list[JournalEntry]:
        """Changes of these memories (None: of all), newest first, with numbers below `before`.

        With `after`: those behind that number, oldest first.
        """

    @abstractmethod
    async def feed(self, space: str, after: int, *, model: str | None) -> Feed:
        """The changes after journal row `after`; 0: the present state as a whole."""

    @abstractmethod
    async def past(self, space: str, at: datetime, *, model: str | None) -> Feed:
        """The active, archived and superseded memories that were valid at `at`; reads every document."""

    @abstractmethod
    async def touch(self, space: str, counts: Mapping[str, Access], *, at_least: bool = False) -> None:
        """Adds to the access counts of memories (id → how many more, and when last).

        With `at_least` the counts are what came from elsewhere: lower ones are raised to them.
        Outside documents and journal: changes no revision. Memories that the space has not are left out; the
        counts of a memory go when it is erased.
        """

    @abstractmethod
    async def accesses(self, space: str, ids: Collection[str]) -> dict[str, Access]:
        """The access counts of these memories, as far as there are any."""

    @abstractmethod
    async def items(
        self, space: str, *, ids: Collection[str] = (), keys: Collection[str] = ()
    ) -> list[StoredItem]:
        """The active documents with one of these ids, and those that hold one of these keys; in any order."""
