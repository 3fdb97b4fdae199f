"""Storage in a SQLite file: whole transactions as functions of its connection."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

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
    sqlite_accesses,
    sqlite_channels,
    sqlite_erasure,
    sqlite_files,
    sqlite_forgetting,
    sqlite_health,
    sqlite_items,
    sqlite_jobs,
    sqlite_memories,
    sqlite_reembedding,
    sqlite_sheets,
    sqlite_transcript,
    sqlite_users,
)
from thoughtcycle.memory.storage.base import Amended, Begun, CycleFeed, Feed, Names, Storage, Write
from thoughtcycle.memory.storage.failures import translated
from thoughtcycle.memory.storage.forgetting import Glimpse, Pulse
from thoughtcycle.memory.storage.health import Census, CycleState
from thoughtcycle.memory.storage.item_port import StoredItem
from thoughtcycle.memory.storage.sheet_port import Sheet, SheetKind, SheetName
from thoughtcycle.memory.storage.sqlite_epochs import InEpoch
from thoughtcycle.memory.storage.sqlite_thread import BUSY_SECONDS, connect
from thoughtcycle.memory.storage.sqlite_watch import Watch
from thoughtcycle.memory.storage.standing import Asked, Standing
from thoughtcycle.memory.storage.write_turn import Connection
from thoughtcycle.memory.tombstones import Tombstone

T = TypeVar("T")


class SqliteStorage(InEpoch, Storage):
    """Keeps everything in one file (WAL), beside the tables of whoever else uses that file."""

    def __init__(
        self, connection: Connection, watch: Watch, executor: ThreadPoolExecutor, place: str
    ) -> None:
        """As InEpoch; `watch` belongs to the event loop's thread."""
        super().__init__(connection, executor, place)
        self._watch = watch

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> AsyncIterator["SqliteStorage"]:
        """Opens the file, creates what is missing, and closes it on leaving."""
        executor = ThreadPoolExecutor(1, thread_name_prefix="thoughtcycle-sqlite")
        loop = asyncio.get_running_loop()
        try:
            connection = await loop.run_in_executor(executor, connect, path, busy_seconds)
            try:
                watch = await loop.run_in_executor(executor, Watch, path)
                try:
                    yield cls(connection, watch, executor, str(path))
                finally:
                    await asyncio.shield(loop.run_in_executor(executor, watch.close))
            finally:
                await asyncio.shield(loop.run_in_executor(executor, connection.close))
        finally:
            executor.shutdown(wait=False)

    async def commit(self, space: str, writes: Sequence[Write]) -> list[MemoryRecord]:
        if not writes:
            return []
        return await self._late(space, sqlite_memories.commit, space, writes)

    async def save(
        self, space: str, asked: Asked, plan: Callable[[Standing], tuple[Sequence[Write], T]]
    ) -> tuple[list[MemoryRecord], T]:
        return await self._late(space, sqlite_memories.save, space, asked, plan)

    async def records(self, space: str, ids: Sequence[str]) -> list[MemoryRecord]:
        return await self._read(sqlite_memories.records, space, ids)

    async def same(
        self, space: str, *, identities: Collection[str], keys: Collection[str]
    ) -> list[MemoryRecord]:
        return await self._read(sqlite_memories.same, space, identities, keys)

    async def versions(self, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        return await self._read(sqlite_memories.versions, space, ids)

    async def family(self, space: str, ids: Collection[str]) -> list[MemoryRecord]:
        return await self._read(sqlite_erasure.family, space, ids)

    async def hidden(self, space: str | None = None) -> list[MemoryRecord]:
        return await self._read(sqlite_erasure.hidden, space)

    async def secret(self, user: str, fresh: bytes) -> bytes:
        return await self._write(sqlite_erasure.secret, user, fresh)

    async def bury(self, user: str, tombstones: Sequence[Tombstone]) -> None:
        await self._write(sqlite_erasure.bury, user, tombstones)

    async def tombstones(self, user: str) -> list[Tombstone]:
        return await self._read(sqlite_erasure.tombstones, user)

    async def rewrite_journal(self, space: str, befores: Mapping[int, MemoryRecord]) -> None:
        await self._write(sqlite_erasure.rewrite_journal, space, befores)

    async def scrub(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, self._scrubbed)

    def _scrubbed(self) -> None:
        with translated(self._place):
            sqlite_erasure.scrub(self._connection)

    async def of_cycles(self, space: str, cycles: Collection[str]) -> list[MemoryRecord]:
        return await self._read(sqlite_memories.of_cycles, space, cycles)

    async def listing(
        self, space: str, statuses: Collection[Status], *, limit: int | None, offset: int
    ) -> list[MemoryRecord]:
        return await self._read(sqlite_memories.listing, space, statuses, limit, offset)

    async def vectors(self, space: str, memories: Collection[str]) -> list[Vector]:
        return await self._read(sqlite_memories.vectors, space, memories)

    async def journal(
        self, space: str, *, memories: Names = None, before: int | None = None, limit: int | None = None
    ) -> list[JournalEntry]:
        return await self._read(sqlite_memories.journal, space, memories, before, limit)

    async def touch(self, space: str, counts: Mapping[str, Access], *, at_least: bool = False) -> None:
        await self._write(sqlite_accesses.touch, space, counts, at_least)

    async def accesses(self, space: str, ids: Collection[str]) -> dict[str, Access]:
        return await self._read(sqlite_accesses.accesses, space, ids)

    async def feed(self, space: str, after: int, *, model: str | None) -> Feed:
        return await self._read(sqlite_memories.feed, space, after, model)

    async def past(self, space: str, at: datetime, *, model: str | None) -> Feed:
        return await self._read(sqlite_memories.past, space, at, model)

    async def claim(
        self, chat: str, user: str, at: datetime, *, created: datetime | None = None
    ) -> Conversation:
        # Known chats are only read: a write would wait for the checkpointer, which shares the file.
        known = await self._read(sqlite_transcript.conversation, chat)
        if known is not None:
            return known
        return await self._new(user, at, sqlite_transcript.claim, chat, user, created or at)

    async def owner(self, chat: str) -> str | None:
        return await self._read(sqlite_transcript.owner, chat)

    async def add_cycle(self, cycle: Cycle) -> Cycle:
        return await self._late(cycle.user, sqlite_transcript.add_cycle, cycle)

    async def append_cycle(self, cycle: Cycle) -> Cycle:
        return await self._late(cycle.user, sqlite_transcript.append_cycle, cycle)

    async def cycle(self, user: str, id: str) -> Cycle | None:
        return await self._read(sqlite_transcript.get_cycle, user, id)

    async def begin(
        self, user: str, chat: str, at: datetime, cycle: Callable[[Conversation], Cycle]
    ) -> Begun:
        return await self._new(user, at, sqlite_transcript.begin, user, chat, at, cycle)

    async def path(self, user: str, chat: str, tip: str, *, limit: int) -> list[Cycle]:
        return await self._read(sqlite_transcript.path, user, chat, tip, limit)

    async def amend_cycle(
        self,
        user: str,
        id: str,
        change: Callable[[Cycle], Cycle],
        *,
        tip: bool = False,
        anew: bool = False,
    ) -> Amended | None:
        return await self._write(sqlite_transcript.amend_cycle, user, id, change, tip, anew)

    async def open_cycles(
        self, *, user: str | None = None, chat: str | None = None, before: datetime | None = None
    ) -> list[Cycle]:
        return await self._read(sqlite_transcript.open_cycles, user, chat, before)

    async def links(self, user: str, chats: Collection[str]) -> dict[str, str | None]:
        return await self._read(sqlite_transcript.links, user, chats)

    async def cycle_feed(self, user: str, after: int, *, model: str | None) -> CycleFeed:
        return await self._read(sqlite_transcript.cycle_feed, user, after, model)

    async def keep_message_vectors(self, user: str, vectors: Sequence[MessageVector]) -> None:
        await self._write(sqlite_transcript.keep_message_vectors, user, vectors)

    async def drop_message_vectors(self, user: str, *, keep: str) -> None:
        await self._write(sqlite_reembedding.drop_message_vectors, user, keep)

    async def conversations(self, user: str, *, after: str | None, limit: int) -> list[Conversation]:
        return await self._read(sqlite_users.conversations, user, after, limit)

    async def conversation(self, user: str, chat: str) -> Conversation | None:
        return await self._read(sqlite_users.conversation, user, chat)

    async def cycles(self, user: str, ids: Sequence[str]) -> list[Cycle]:
        return await self._read(sqlite_users.cycles, user, ids)

    async def page(
        self, space: str, *, after: int, limit: int, status: Status | None = None
    ) -> list[MemoryRecord]:
        return await self._read(sqlite_users.page, space, after, limit, status)

    async def changes(self, space: str, *, after: int, limit: int) -> list[JournalEntry]:
        return await self._read(sqlite_users.changes, space, after, limit)

    async def rename(self, user: str, chat: str, title: str | None) -> bool:
        return await self._write(sqlite_users.rename, user, chat, title)

    async def put_job(self, job: Job) -> bool:
        return await self._late(job.user, sqlite_jobs.put, job)

    async def job(self, user: str, id: str) -> Job | None:
        return await self._read(sqlite_jobs.get, user, id)

    async def free_jobs(self, now: datetime, kinds: Collection[str], *, limit: int) -> list[Job]:
        return await self._read(sqlite_jobs.free, now, kinds, limit)

    async def change_job(self, before: Job, after: Job | None) -> bool:
        return await self._write(sqlite_jobs.change, before, after)

    async def jobs(
        self, users: Collection[str], states: Collection[JobState], *, limit: int | None = None
    ) -> list[Job]:
        return await self._read(sqlite_jobs.listing, users, states, limit)

    async def sheets(self, user: str, names: Sequence[SheetName], *, annexes: bool = True) -> list[Sheet]:
        return await self._read(sqlite_sheets.sheets, user, names, annexes)

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
        return await self._late(user, sqlite_sheets.put, user, name, document, before, at, annex)

    async def drop_sheet(self, user: str, name: SheetName, *, at: datetime) -> None:
        await self._late(user, sqlite_sheets.drop, user, name, at)

    async def sheet_page(self, user: str, kind: SheetKind, *, limit: int, offset: int) -> list[Sheet]:
        return await self._read(sqlite_sheets.page, user, kind, limit, offset)

    async def pending_cycles(self, user: str | None, *, limit: int) -> list[Cycle]:
        return await self._read(sqlite_sheets.pending_cycles, user, limit)

    async def pending_users(self, *, limit: int) -> list[str]:
        return await self._read(sqlite_sheets.pending_users, limit)

    async def put_file(self, user: str, sha256: str, data: bytes) -> None:
        await self._late(user, sqlite_files.put, user, sha256, data)

    async def file(self, user: str, sha256: str) -> bytes | None:
        return await self._read(sqlite_files.get, user, sha256)

    async def files(self, user: str) -> Mapping[str, int]:
        return await self._read(sqlite_files.listing, user)

    async def drop_file(self, user: str, sha256: str, *, without: Collection[str] = ()) -> bool:
        return await self._write(sqlite_files.drop, user, sha256, without)

    async def items(
        self, space: str, *, ids: Collection[str] = (), keys: Collection[str] = ()
    ) -> list[StoredItem]:
        return await self._read(sqlite_items.items, space, ids, keys)

    async def deleted_items(self, space: str, key: str) -> list[str]:
        return await self._read(sqlite_items.deleted, space, key)

    async def put_code(self, user: str, digest: str, *, now: datetime, until: datetime) -> None:
        await self._late(user, sqlite_channels.put_code, user, digest, now, until)

    async def take_code(self, digest: str, now: datetime) -> str | None:
        return await self._write(sqlite_channels.take_code, digest, now)

    async def count_try(self, identity: str, now: datetime, until: datetime) -> tuple[int, datetime]:
        return await self._write(sqlite_channels.count_try, identity, now, until)

    async def clear_tries(self, identity: str) -> None:
        await self._write(sqlite_channels.clear_tries, identity)

    async def put_link(self, link: ChannelLink) -> None:
        await self._late(link.user, sqlite_channels.put_link, link)

    async def link(self, channel: str, sender: str) -> ChannelLink | None:
        return await self._read(sqlite_channels.link, channel, sender)

    async def channel_links(self, user: str) -> list[ChannelLink]:
        return await self._read(sqlite_channels.links, user)

    async def drop_link(self, user: str, channel: str, sender: str) -> bool:
        return await self._write(sqlite_channels.drop_link, user, channel, sender)

    async def strangers(
        self, user: str, *, chats: Sequence[str], cycles: Sequence[str], memories: Sequence[str]
    ) -> bool:
        return await self._read(sqlite_users.strangers, user, chats, cycles, memories)

    async def adopt(self, chat: Conversation) -> None:
        await self._write(sqlite_users.adopt, chat)

    async def integrity(self) -> list[str]:
        return await self._read(sqlite_health.integrity)

    async def mend(self) -> None:
        await self._write(sqlite_health.mend)

    async def users(self) -> list[str]:
        return await self._read(sqlite_health.users)

    async def census(self, user: str) -> Census:
        return await self._read(sqlite_health.census, user)

    async def cycle_states(self, user: str) -> list[CycleState]:
        return await self._read(sqlite_health.cycle_states, user)

    async def stray_vectors(self, space: str) -> list[str]:
        return await self._read(sqlite_health.stray_vectors, space)

    async def mend_vectors(self, space: str) -> None:
        await self._write(sqlite_health.mend_vectors, space)

    async def mend_chat(self, user: str, chat: str, tip: str | None) -> None:
        await self._write(sqlite_health.mend_chat, user, chat, tip)

    async def epoch(self, user: str) -> int:
        return await self._read(sqlite_forgetting.epoch, user)

    def glimpse(self, user: str) -> Glimpse | None:
        return self._watch.glimpse(user)

    async def pulse(self, user: str) -> Pulse:
        return await self._read(sqlite_forgetting.pulse, user)

    async def forgotten(self, user: str) -> datetime | None:
        return await self._read(sqlite_forgetting.forgotten, user)

    async def forget(self, user: str, at: datetime) -> Mapping[str, int]:
        counts = await self._write(sqlite_forgetting.forget, user, at)
        self._epochs.begin(user, await self.epoch(user))
        return counts

    async def traces(self, user: str, ids: Collection[str]) -> Mapping[str, int]:
        return await self._read(sqlite_forgetting.traces, user, ids)
