"""The port to a database: what the memory asks of it, in the memory's own terms."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeAlias, TypeVar

from thoughtcycle.memory.records import (
    Access,
    Conversation,
    Cycle,
    JournalEntry,
    Kind,
    Layer,
    MemoryRecord,
    MessageVector,
    Op,
    Status,
    Vector,
)
from thoughtcycle.memory.storage.channel_port import ChannelStorage
from thoughtcycle.memory.storage.file_port import FileStorage
from thoughtcycle.memory.storage.forgetting import Forgetting
from thoughtcycle.memory.storage.health import Health
from thoughtcycle.memory.storage.item_port import ItemStorage
from thoughtcycle.memory.storage.job_port import JobStorage
from thoughtcycle.memory.storage.sheet_port import SheetStorage
from thoughtcycle.memory.storage.standing import Asked, Standing
from thoughtcycle.memory.storage.whole_user import WholeUser
from thoughtcycle.memory.tombstones import Tombstone
from thoughtcycle.prompts.errors import StorageFailed

R = TypeVar("R")
Names: TypeAlias = Collection[str] | None
"""Ids that a query is narrowed to; None: it is not."""


class Conflict(StorageFailed):
    """A write met another revision than it expected, or a key that another active memory holds.

    Nothing was written: read again, decide again, write again.
    """

    def __init__(self) -> None:
        super().__init__("storage_conflict")


@dataclass(frozen=True)
class Write:
    """One change of one memory: a document, its vectors, and the journal row that tells of it."""

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
        """What the journal keeps of `before`: nothing of what is erased or redacted."""
        if self.op == "redact" and self.before is not None:
            return self.record.model_copy(update={"revision": self.before.revision})
        return None if self.op == "erase" else self.before


class Entry(NamedTuple):
    """What an index needs to know of a memory: a tuple, because there may be a hundred thousand at once."""

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
    """What an index lacks."""

    number: int
    """Last journal number up to which all changes are in."""
    entries: Sequence[Entry]
    """The memories that changed, as they are now (from 0: all active, archived and hidden ones)."""
    blocks: Sequence[Block]
    """The vectors of the active and archived ones among them, of one model."""


@dataclass(frozen=True)
class CycleFeed:
    """What an index of the transcript lacks."""

    number: int
    """Of the user's last change to a closed cycle; all up to it are in."""
    cycles: tuple[Cycle, ...]
    """The closed cycles that changed, as they are now, in the order of their last change."""
    tips: Mapping[str, str | None]
    """Chat → end of its live branch, for the chats of `cycles`."""
    vectors: tuple[MessageVector, ...]
    """Those of `cycles`, of one model."""


@dataclass(frozen=True)
class Begun:
    """What the beginning of a cycle found."""

    conversation: Conversation
    cycle: Cycle | None
    """As stored; None where the chat is another user's."""
    left: tuple[Cycle, ...]
    """The cycles of the chat that were open before."""


@dataclass(frozen=True)
class Amended:
    """A cycle after its change."""

    cycle: Cycle
    tip: str | None
    """The end of its chat's live branch before."""


class Storage(
    WholeUser, Health, Forgetting, JobStorage, SheetStorage, FileStorage, ChannelStorage, ItemStorage
):
    """Documents, vectors, journal and transcript of all users.

    Every method that names a space or a user touches nothing of another one. All raise StorageFailed when
    the database refuses; then nothing is half-written.
    """

    @abstractmethod
    async def commit(self, space: str, writes: Sequence[Write]) -> list[MemoryRecord]:
        """Makes the changes, numbers each in the space's journal, and returns the documents as stored.

        All or nothing where the database has transactions. Where it has not, in the given order, each
        change by itself so that no reader sees a document without its journal row for good (a document
        carries the number of its row): callers order writes so that a crash between two does no harm.
        A write with the op `erase` also empties what earlier journal rows of its memory keep.
        Raises Conflict when `before` is not what is stored, or an active memory holds the same `key`.
        """

    async def save(
        self, space: str, asked: Asked, plan: Callable[[Standing], tuple[Sequence[Write], R]]
    ) -> tuple[list[MemoryRecord], R]:
        """Looks for what stands already, and commits the writes that `plan` makes of it; it tells more (R).

        `plan` must be pure: it runs on any thread. A backend that can does all of it in one go.
        Raises as `commit`.
        """
        found = await self.same(space, identities=asked.identities, keys=asked.keys)
        standing = Standing([*found, *await self.records(space, asked.ids)])
        if merged := standing.merged():
            standing = Standing([*standing.records, *await self.records(space, merged)])
        if holding := standing.holding(asked.keys):
            standing = Standing(standing.records, await self.vectors(space, holding))
        writes, told = plan(standing)
        return await self.commit(space, writes), told

    @abstractmethod
    async def records(self, space: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """The documents with these ids, whatever their status, in this order; unknown ids are left out."""

    @abstractmethod
    async def same(
        self, space: str, *, identities: Collection[str], keys: Collection[str]
    ) -> list[MemoryRecord]:
        """Active documents that say the same (`words.identity`) or hold one of these keys."""

    @abstractmethod
    async def versions(self, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        """Documents whose `current` is one of these ids, erased ones aside; the latest `valid_to` first."""

    @abstractmethod
    async def family(self, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        """The documents with these ids and all their former versions, erased ones too."""

    @abstractmethod
    async def hidden(self, space: str | None = None) -> list[MemoryRecord]:
        """The hidden documents that were deleted, neither abandoned nor undone ones, the last changed first.

        None: of all users, in any order: for those who clean up, never for a user.
        """

    @abstractmethod
    async def secret(self, user: str, fresh: bytes) -> bytes:
        """The user's random key: the one that is kept, else `fresh`, which is kept from now on."""

    @abstractmethod
    async def bury(self, user: str, tombstones: Sequence[Tombstone]) -> None:
        """Keeps tombstones, one per memory; those that are there already stay as they are."""

    @abstractmethod
    async def tombstones(self, user: str) -> list[Tombstone]:
        """The user's tombstones."""

    @abstractmethod
    async def rewrite_journal(self, space: str, befores: Mapping[int, MemoryRecord]) -> None:
        """Replaces what rows (by number) keep of a memory; only erasing does that."""

    @abstractmethod
    async def scrub(self) -> None:
        """Removes from the database's files what was overwritten there, as far as that is in our hands."""

    @abstractmethod
    async def of_cycles(self, space: str, cycles: Collection[str]) -> list[MemoryRecord]:
        """Active, archived and hidden documents whose source is one of these cycles."""

    @abstractmethod
    async def listing(
        self, space: str, statuses: Collection[Status], *, limit: int | None, offset: int
    ) -> list[MemoryRecord]:
        """Documents of these statuses, the last changed first."""

    @abstractmethod
    async def vectors(self, space: str, memories: Collection[str]) -> list[Vector]:
        """All vectors of these memories."""

    @abstractmethod
    async def journal(
        self, space: str, *, memories: Names = None, before: int | None = None, limit: int | None = None
    ) -> list[JournalEntry]:
        """Changes, newest first: of these memories (None: of all), with numbers below `before`."""

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
    async def feed(self, space: str, after: int, *, model: str | None) -> Feed:
        """What happened after journal row `after`; 0: the present state as a whole."""

    @abstractmethod
    async def past(self, space: str, at: datetime, *, model: str | None) -> Feed:
        """What was believed at `at`: active, archived and superseded memories that were valid then.

        Reads every document of the space.
        """

    @abstractmethod
    async def claim(
        self, chat: str, user: str, at: datetime, *, created: datetime | None = None
    ) -> Conversation:
        """The conversation of this chat, created for `user` when it is new. May be another user's.

        `at` is now, or when what waited was said; `created` (None: `at`) is when a chat that comes from
        elsewhere began. Raises NotAllowed('user_forgotten') when it is new and `at` is not after the moment
        at which the user was forgotten.
        """

    @abstractmethod
    async def owner(self, chat: str) -> str | None:
        """Whose this chat is; None while nobody has claimed it."""

    @abstractmethod
    async def add_cycle(self, cycle: Cycle) -> Cycle:
        """Stores a new cycle; when its id is known already, returns the stored one unchanged."""

    @abstractmethod
    async def append_cycle(self, cycle: Cycle) -> Cycle:
        """Stores a new closed cycle behind the end of its chat's live branch and makes it the end, in one go.

        Its `parent` is what was the end; two at once come one after the other. When its id is known already,
        returns the stored one unchanged.
        """

    @abstractmethod
    async def cycle(self, user: str, id: str) -> Cycle | None:
        """One cycle of the transcript."""

    @abstractmethod
    async def begin(
        self, user: str, chat: str, at: datetime, cycle: Callable[[Conversation], Cycle]
    ) -> Begun:
        """`claim`, `open_cycles` and, where the chat is the user's, `add_cycle` of what `cycle` makes of it.

        A backend that can does it in one go: this is the first thing that each turn waits for. Raises
        NotAllowed('user_forgotten') when `at` is not after the moment at which the user was forgotten.
        """

    @abstractmethod
    async def path(self, user: str, chat: str, tip: str, *, limit: int) -> list[Cycle]:
        """The last `limit` closed cycles of a chat from `tip` back along their parents, newest first."""

    @abstractmethod
    async def amend_cycle(
        self,
        user: str,
        id: str,
        change: Callable[[Cycle], Cycle],
        *,
        tip: bool = False,
        anew: bool = False,
    ) -> Amended | None:
        """Replaces a cycle by `change` of it, atomically; None when it is unknown.

        `change` must be pure: it may be called again when another writer was faster. With `tip` the cycle
        becomes the end of its chat's live branch, in the same transaction where there are transactions.
        Where only what formation made of a closed cycle changes (`same_words`), it keeps its number and its
        vectors, unless `anew`.
        """

    @abstractmethod
    async def open_cycles(
        self, *, user: str | None = None, chat: str | None = None, before: datetime | None = None
    ) -> list[Cycle]:
        """Cycles that are not closed: of a user's chat, or those whose heartbeat is older than `before`."""

    @abstractmethod
    async def links(self, user: str, chats: Collection[str]) -> dict[str, str | None]:
        """Cycle → parent, for all cycles of these chats; no parent that is of another of them."""

    @abstractmethod
    async def cycle_feed(self, user: str, after: int, *, model: str | None) -> CycleFeed:
        """What happened to the user's closed cycles after change `after`; 0: all of them.

        Closing a cycle and every later amendment of its words takes the next number of a counter of the
        user's own, with the amendment itself, so that no reader sees a number before all smaller ones.
        Numbers may have gaps.
        """

    @abstractmethod
    async def keep_message_vectors(self, user: str, vectors: Sequence[MessageVector]) -> None:
        """Keeps vectors of texts of the user's cycles, each once; those of unknown cycles are dropped.

        Amending a cycle's words drops its vectors: they are made again from what it says then.
        """

    @abstractmethod
    async def drop_message_vectors(self, user: str, *, keep: str) -> None:
        """Removes the vectors of the user's messages, those of the model `keep` aside."""
