"""Storage in MongoDB, correct on a standalone server: every commit is decided by one atomic write."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from weakref import WeakValueDictionary

from thoughtcycle.memory.jobs import Job, JobState
from thoughtcycle.memory.records import (
    Access,
    ChannelLink,
    Conversation,
    Cycle,
    JournalEntry,
    MemoryRecord,
    MessageVector,
    Status,
    Vector,
)
from thoughtcycle.memory.storage import (
    mongo_accesses,
    mongo_channels,
    mongo_commit,
    mongo_epochs,
    mongo_erasure,
    mongo_files,
    mongo_forgetting,
    mongo_health,
    mongo_items,
    mongo_jobs,
    mongo_memories,
    mongo_reembedding,
    mongo_sheets,
    mongo_transcript,
    mongo_users,
)
from thoughtcycle.memory.storage.base import Amended, Begun, CycleFeed, Feed, Names, Storage, Write
from thoughtcycle.memory.storage.failures import translated
from thoughtcycle.memory.storage.forgetting import Pulse
from thoughtcycle.memory.storage.health import Census, CycleState
from thoughtcycle.memory.storage.item_port import StoredItem
from thoughtcycle.memory.storage.mongo_client import Database, connect, database_of
from thoughtcycle.memory.storage.mongo_running import ToTheEnd
from thoughtcycle.memory.storage.mongo_schema import migrate
from thoughtcycle.memory.storage.sheet_port import Sheet, SheetKind, SheetName
from thoughtcycle.memory.tombstones import Tombstone


class MongoStorage(ToTheEnd, Storage):
    """Keeps everything in one database, beside the collections of whoever else uses it."""

    def __init__(self, database: Database, place: str) -> None:
        """As ToTheEnd."""
        super().__init__(database, place)
        self._memories: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._transcripts: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, place: str) -> AsyncIterator["MongoStorage"]:
        """Opens the database that `url` names, creates what is missing, and closes it on leaving."""
        with translated(place):
            client = connect(url)
        try:
            storage = cls(database_of(client), place)
            with translated(place):
                await migrate(storage._db, place)
            yield storage
            await storage._written()
        finally:
            await asyncio.shield(client.close())

    async def commit(self, space: str, writes: Sequence[Write]) -> list[MemoryRecord]:
        if not writes:
            return []
        work = self._late(space, mongo_commit.commit(self._db, space, writes, self._place))
        return await self._write(work, self._memories.setdefault(space, asyncio.Lock()))

    async def records(self, space: str, ids: Sequence[str]) -> list[MemoryRecord]:
        return await self._run(mongo_memories.records(self._db, space, ids))

    async def same(
        self, space: str, *, identities: Collection[str], keys: Collection[str]
    ) -> list[MemoryRecord]:
        return await self._run(mongo_memories.same(self._db, space, identities, keys))

    async def versions(self, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        return await self._run(mongo_memories.versions(self._db, space, ids))

    async def family(self, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        return await self._run(mongo_erasure.family(self._db, space, ids))

    async def hidden(self, space: str | None = None) -> list[MemoryRecord]:
        return await self._run(mongo_erasure.hidden(self._db, space))

    async def secret(self, user: str, fresh: bytes) -> bytes:
        return await self._write(mongo_erasure.secret(self._db, user, fresh))

    async def bury(self, user: str, tombstones: Sequence[Tombstone]) -> None:
        await self._write(mongo_erasure.bury(self._db, user, tombstones))

    async def tombstones(self, user: str) -> list[Tombstone]:
        return await self._run(mongo_erasure.tombstones(self._db, user))

    async def rewrite_journal(self, space: str, befores: Mapping[int, MemoryRecord]) -> None:
        await self._write(mongo_erasure.rewrite_journal(self._db, space, befores))

    async def scrub(self) -> None:
        """The server's files are the server's."""

    async def of_cycles(self, space: str, cycles: Collection[str]) -> list[MemoryRecord]:
        return await self._run(mongo_memories.of_cycles(self._db, space, cycles))

    async def listing(
        self, space: str, statuses: Collection[Status], *, limit: int | None, offset: int
    ) -> list[MemoryRecord]:
        return await self._run(mongo_memories.listing(self._db, space, statuses, limit, offset))

    async def vectors(self, space: str, memories: Collection[str]) -> list[Vector]:
        return await self._run(mongo_memories.vectors(self._db, space, memories))

    async def journal(
        self, space: str, *, memories: Names = None, before: int | None = None, limit: int | None = None
    ) -> list[JournalEntry]:
        return await self._run(mongo_memories.journal(self._db, space, memories, before, limit))

    async def touch(self, space: str, counts: Mapping[str, Access], *, at_least: bool = False) -> None:
        await self._write(mongo_accesses.touch(self._db, space, counts, at_least))

    async def accesses(self, space: str, ids: Collection[str]) -> dict[str, Access]:
        return await self._run(mongo_accesses.accesses(self._db, space, ids))

    async def feed(self, space: str, after: int, *, model: str | None) -> Feed:
        return await self._run(mongo_memories.feed(self._db, space, after, model))

    async def past(self, space: str, at: datetime, *, model: str | None) -> Feed:
        return await self._run(mongo_memories.past(self._db, space, at, model))

    async def claim(
        self, chat: str, user: str, at: datetime, *, created: datetime | None = None
    ) -> Conversation:
        known = await self._write(mongo_transcript.claim(self._db, chat, user, created or at, asked=at))
        if known.tip is None:  # perhaps new: it belongs to the present epoch
            self._epochs.begin(user, await self.epoch(user))
        return known

    async def owner(self, chat: str) -> str | None:
        return await self._run(mongo_transcript.owner(self._db, chat))

    async def add_cycle(self, cycle: Cycle) -> Cycle:
        work = self._late(cycle.user, mongo_transcript.add_cycle(self._db, cycle, self._place))
        return await self._write(work, self._transcripts.setdefault(cycle.user, asyncio.Lock()))

    async def append_cycle(self, cycle: Cycle) -> Cycle:
        work = self._late(cycle.user, mongo_transcript.append_cycle(self._db, cycle, self._place))
        return await self._write(work, self._transcripts.setdefault(cycle.user, asyncio.Lock()))

    async def cycle(self, user: str, id: str) -> Cycle | None:
        return await self._run(mongo_transcript.get_cycle(self._db, user, id))

    async def begin(
        self, user: str, chat: str, at: datetime, cycle: Callable[[Conversation], Cycle]
    ) -> Begun:
        self._epochs.begin(user, await self._run(mongo_epochs.present(self._db, user, at)))
        known = await self._write(mongo_transcript.claim(self._db, chat, user, at, asked=at))
        if known.user != user:
            return Begun(known, None, ())
        left = await self.open_cycles(user=user, chat=chat)
        return Begun(known, await self.add_cycle(cycle(known)), tuple(left))

    async def path(self, user: str, chat: str, tip: str, *, limit: int) -> list[Cycle]:
        return await self._run(mongo_transcript.path(self._db, user, chat, tip, limit))

    async def amend_cycle(
        self,
        user: str,
        id: str,
        change: Callable[[Cycle], Cycle],
        *,
        tip: bool = False,
        anew: bool = False,
    ) -> Amended | None:
        work = mongo_transcript.amend_cycle(self._db, user, id, change, tip, anew, self._place)
        return await self._write(work, self._transcripts.setdefault(user, asyncio.Lock()))

    async def open_cycles(
        self, *, user: str | None = None, chat: str | None = None, before: datetime | None = None
    ) -> list[Cycle]:
        return await self._run(mongo_transcript.open_cycles(self._db, user, chat, before))

    async def links(self, user: str, chats: Collection[str]) -> dict[str, str | None]:
        return await self._run(mongo_transcript.links(self._db, user, chats))

    async def cycle_feed(self, user: str, after: int, *, model: str | None) -> CycleFeed:
        return await self._run(mongo_transcript.cycle_feed(self._db, user, after, model))

    async def keep_message_vectors(self, user: str, vectors: Sequence[MessageVector]) -> None:
        await self._write(mongo_transcript.keep_message_vectors(self._db, user, vectors))

    async def drop_message_vectors(self, user: str, *, keep: str) -> None:
        await self._write(mongo_reembedding.drop_message_vectors(self._db, user, keep))

    async def conversations(self, user: str, *, after: str | None, limit: int) -> list[Conversation]:
        return await self._run(mongo_users.conversations(self._db, user, after, limit))

    async def conversation(self, user: str, chat: str) -> Conversation | None:
        return await self._run(mongo_users.conversation(self._db, user, chat))

    async def cycles(self, user: str, ids: Sequence[str]) -> list[Cycle]:
        return await self._run(mongo_users.cycles(self._db, user, ids))

    async def page(
        self, space: str, *, after: int, limit: int, status: Status | None = None
    ) -> list[MemoryRecord]:
        return await self._run(mongo_users.page(self._db, space, after, limit, status))

    async def changes(self, space: str, *, after: int, limit: int) -> list[JournalEntry]:
        return await self._run(mongo_users.changes(self._db, space, after, limit))

    async def rename(self, user: str, chat: str, title: str | None) -> bool:
        return await self._write(mongo_users.rename(self._db, user, chat, title))

    async def put_job(self, job: Job) -> bool:
        return await self._write(self._late(job.user, mongo_jobs.put(self._db, job)))

    async def job(self, user: str, id: str) -> Job | None:
        return await self._run(mongo_jobs.get(self._db, user, id))

    async def free_jobs(self, now: datetime, kinds: Collection[str], *, limit: int) -> list[Job]:
        return await self._run(mongo_jobs.free(self._db, now, kinds, limit))

    async def change_job(self, before: Job, after: Job | None) -> bool:
        return await self._write(mongo_jobs.change(self._db, before, after))

    async def jobs(
        self, users: Collection[str], states: Collection[JobState], *, limit: int | None = None
    ) -> list[Job]:
        return await self._run(mongo_jobs.listing(self._db, users, states, limit))

    async def sheets(self, user: str, names: Sequence[SheetName], *, annexes: bool = True) -> list[Sheet]:
        return await self._run(mongo_sheets.sheets(self._db, user, names, annexes))

    async def put_sheet(
        self,
        user: str,
        name: SheetName,
        document: str,
        *,
        before: int,
        at: datetime,
        annex: str | None = None,
    ) -> bool:
        return await self._write(
            self._late(user, mongo_sheets.put(self._db, user, name, document, before, at, annex))
        )

    async def drop_sheet(self, user: str, name: SheetName, *, at: datetime) -> None:
        await self._write(self._late(user, mongo_sheets.drop(self._db, user, name, at)))

    async def sheet_page(self, user: str, kind: SheetKind, *, limit: int, offset: int) -> list[Sheet]:
        return await self._run(mongo_sheets.page(self._db, user, kind, limit, offset))

    async def pending_cycles(self, user: str | None, *, limit: int) -> list[Cycle]:
        return await self._run(mongo_sheets.pending_cycles(self._db, user, limit))

    async def pending_users(self, *, limit: int) -> list[str]:
        return await self._run(mongo_sheets.pending_users(self._db, limit))

    async def put_file(self, user: str, sha256: str, data: bytes) -> None:
        await self._write(self._late(user, mongo_files.put(self._db, user, sha256, data)))

    async def file(self, user: str, sha256: str) -> bytes | None:
        return await self._run(mongo_files.get(self._db, user, sha256))

    async def files(self, user: str) -> Mapping[str, int]:
        return await self._run(mongo_files.listing(self._db, user))

    async def drop_file(self, user: str, sha256: str, *, without: Collection[str] = ()) -> bool:
        return await self._write(mongo_files.drop(self._db, user, sha256, without))

    async def items(
        self, space: str, *, ids: Collection[str] = (), keys: Collection[str] = ()
    ) -> list[StoredItem]:
        return await self._run(mongo_items.items(self._db, space, ids, keys))

    async def deleted_items(self, space: str, key: str) -> list[str]:
        return await self._run(mongo_items.deleted(self._db, space, key))

    async def put_code(self, user: str, digest: str, *, now: datetime, until: datetime) -> None:
        await self._write(self._late(user, mongo_channels.put_code(self._db, user, digest, now, until)))

    async def take_code(self, digest: str, now: datetime) -> str | None:
        return await self._write(mongo_channels.take_code(self._db, digest, now))

    async def count_try(self, identity: str, now: datetime, until: datetime) -> tuple[int, datetime]:
        return await self._write(mongo_channels.count_try(self._db, identity, now, until))

    async def clear_tries(self, identity: str) -> None:
        await self._write(mongo_channels.clear_tries(self._db, identity))

    async def put_link(self, link: ChannelLink) -> None:
        await self._write(self._late(link.user, mongo_channels.put_link(self._db, link)))

    async def link(self, channel: str, sender: str) -> ChannelLink | None:
        return await self._run(mongo_channels.link(self._db, channel, sender))

    async def channel_links(self, user: str) -> list[ChannelLink]:
        return await self._run(mongo_channels.links(self._db, user))

    async def drop_link(self, user: str, channel: str, sender: str) -> bool:
        return await self._write(mongo_channels.drop_link(self._db, user, channel, sender))

    async def strangers(
        self, user: str, *, chats: Sequence[str], cycles: Sequence[str], memories: Sequence[str]
    ) -> bool:
        return await self._run(mongo_users.strangers(self._db, user, chats, cycles, memories))

    async def adopt(self, chat: Conversation) -> None:
        await self._write(mongo_users.adopt(self._db, chat))

    async def integrity(self) -> list[str]:
        return await self._run(mongo_health.integrity(self._db))

    async def mend(self) -> None:
        await self._write(mongo_health.mend(self._db))

    async def users(self) -> list[str]:
        return await self._run(mongo_health.users(self._db))

    async def census(self, user: str) -> Census:
        return await self._run(mongo_health.census(self._db, user))

    async def cycle_states(self, user: str) -> list[CycleState]:
        return await self._run(mongo_health.cycle_states(self._db, user))

    async def stray_vectors(self, space: str) -> list[str]:
        return await self._run(mongo_health.stray_vectors(self._db, space))

    async def mend_vectors(self, space: str) -> None:
        await self._write(mongo_health.mend_vectors(self._db, space))

    async def mend_chat(self, user: str, chat: str, tip: str | None) -> None:
        await self._write(mongo_health.mend_chat(self._db, user, chat, tip))

    async def epoch(self, user: str) -> int:
        return await self._run(mongo_epochs.epoch(self._db, user))

    def glimpse(self, user: str) -> None:
        return None

    async def pulse(self, user: str) -> Pulse:
        return await self._run(mongo_epochs.pulse(self._db, user))

    async def forgotten(self, user: str) -> datetime | None:
        return await self._run(mongo_epochs.forgotten(self._db, user))

    async def forget(self, user: str, at: datetime) -> Mapping[str, int]:
        counts = await self._write(mongo_forgetting.forget(self._db, user, at))
        self._epochs.begin(user, await self.epoch(user))
        return counts

    async def traces(self, user: str, ids: Collection[str]) -> Mapping[str, int]:
        return await self._run(mongo_forgetting.traces(self._db, user, ids))
