"""LangGraph's SQLite saver with what it lacks: rollback, copy, prune, and a bounded history."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.checkpoint.sqlite.utils import search_where

from thoughtcycle.checkpoints.late_redaction import LateRedaction
from thoughtcycle.checkpoints.retention import (
    KEEP_TURNS,
    Key,
    Row,
    are_states_kept,
    checked_keep_turns,
    expired,
    may_begin_turn,
    superseded,
)
from thoughtcycle.checkpoints.sqlite_connection import AT_ONCE, marks, together
from thoughtcycle.errors import StorageLocked
from thoughtcycle.memory.redaction import Mask
from thoughtcycle.memory.storage import translated
from thoughtcycle.nodes.base.redaction import MaskOf, masked_tuple, redacted, redacted_checkpoint

# Generated columns, because an index that answers by itself cannot be had on a bare json_extract
# before SQLite 3.41; the library's own statements name their columns and do not see them.
_COLUMNS = ("run_id", "source", "step")
_ADD_COLUMN = """
ALTER TABLE checkpoints ADD COLUMN {column}
    GENERATED ALWAYS AS (json_extract(CAST(metadata AS TEXT), '$.{column}')) VIRTUAL
"""
# The user of a state. The writes name it too, but not in a thread that was pruned or saved on exit only.
_ADD_OWNER = "ALTER TABLE checkpoints ADD COLUMN owner TEXT"
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS checkpoints_by_owner ON checkpoints (owner) WHERE owner IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS checkpoints_by_run ON checkpoints (run_id) WHERE run_id IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS checkpoints_by_turn ON checkpoints "
    "(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, source, step)",
)

_PUT = """
INSERT OR REPLACE INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, owner)
VALUES {rows}
"""
_PUT_WRITE = """
INSERT OR {what} INTO writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
VALUES {{rows}}
"""
# The sub-select has SQLite look each row up by its key, and not read the table.
DELETE = """
DELETE FROM {table} WHERE (thread_id, checkpoint_ns, checkpoint_id) IN (SELECT * FROM (VALUES {{rows}}))
"""
_ROWS = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, source, step
FROM checkpoints WHERE thread_id = ?
"""
# The writes go first: it is by its checkpoint that a write is found.
_TABLES = ("writes", "checkpoints")
_COPIED = {
    "writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value",
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, owner",
}
_THREADS = """
SELECT thread_id FROM writes WHERE channel = 'user_id' AND type = ? AND value = ?
UNION SELECT thread_id FROM checkpoints WHERE owner = ?
"""
_STORED = "SELECT type, checkpoint, rowid FROM checkpoints WHERE thread_id = ?"
_STORED_WRITES = "SELECT type, value, channel, rowid FROM writes WHERE thread_id = ?"
# A value that a run has replaced meanwhile stays.
_REDACT = "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE rowid = ? AND checkpoint = ?"
_REDACT_WRITE = "UPDATE writes SET type = ?, value = ? WHERE rowid = ? AND value = ?"
_OF_RUN = "(SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE run_id = ?)"


HASTY_MILLISECONDS = 100
"""How long a write waits for a file for which the one before waited in vain."""


class SqliteSaver(AsyncSqliteSaver):
    """Keeps checkpoints in the tables `checkpoints` and `writes` of a SQLite file.

    Takes an open connection of class Connection in autocommit mode, which it shares with nobody. All methods
    raise StorageFailed when the database refuses. Each write is one transaction, also when its task is
    cancelled half-way.
    """

    def __init__(
        self,
        conn: aiosqlite.Connection,
        *,
        place: str = "SQLite",
        keep_turns: int = KEEP_TURNS,
        serde: SerializerProtocol | None = None,
    ) -> None:
        """`place` names the database in messages; `keep_turns` (1..1000) is how far regenerating reaches."""
        super().__init__(conn, serde=serde)
        self.place = place
        self.keep_turns = checked_keep_turns(keep_turns)
        self.masks: MaskOf | None = None
        """Gives the words to take out of a state that is read: those of hidden memories."""
        self.late = LateRedaction()
        self._ready = False
        self._patience: int | None = None
        """The normal busy time-out in milliseconds, while a shorter one is set."""

    async def setup(self) -> None:
        """Creates tables, columns and indexes where they are missing; called by every method."""
        if self._ready:
            return
        with translated(self.place):
            await super().setup()
        async with self._transaction() as conn:
            there = {row[1] for row in await conn.execute_fetchall("PRAGMA table_xinfo(checkpoints)")}
            for column in _COLUMNS:
                if column not in there:
                    await conn.execute(_ADD_COLUMN.format(column=column))
            if "owner" not in there:
                await conn.execute(_ADD_OWNER)
            for index in _INDEXES:
                await conn.execute(index)
        self._ready = True

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, else the thread's newest; None when there is none."""
        await self.setup()
        with translated(self.place):
            found = await super().aget_tuple(config)
        return await masked_tuple(found, self.masks)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The matching checkpoints, newest first.

        Unlike the library's it holds no lock between two of them, so that a reader may write meanwhile.
        """
        await self.setup()
        where, values = search_where(config, filter, before)
        keys = await self._fetch(
            f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints {where} "
            "ORDER BY checkpoint_id DESC LIMIT ?",
            (*values, -1 if limit is None else limit),
        )
        for thread, namespace, id in keys:
            key = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id}
            if (found := await self.aget_tuple({"configurable": key})) is not None:
                yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint and, where a turn begins, deletes what lies too far behind."""
        await self.setup()
        place = config.get("configurable", {})
        thread, namespace = str(place["thread_id"]), place["checkpoint_ns"]
        self.late.note_checkpoint(thread, namespace, checkpoint["id"])
        about = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False)
        key = (thread, namespace, checkpoint["id"], place.get("checkpoint_id"))
        owner = self.late.owner(thread, checkpoint["channel_values"])
        row = (*key, *self.serde.dumps_typed(checkpoint), about.encode("utf-8", "ignore"), owner)
        await self._write(_PUT, [row])
        if may_begin_turn(namespace, metadata, new_versions):
            async with self.lock:
                with translated(self.place):
                    rows = await self._rows(thread)
                    await self._delete(thread, expired(rows, checkpoint["id"], self.keep_turns))
        if metadata.get("source") != "input":  # the turn's first step follows, and is checked
            await self.late.redact_late(self, thread, checkpoint["channel_values"])
        ids = {"checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}
        return {"configurable": {"thread_id": place["thread_id"], **ids}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores what a task wrote on top of a checkpoint."""
        await self.setup()
        place = config.get("configurable", {})
        key = (str(place["thread_id"]), str(place["checkpoint_ns"]), str(place["checkpoint_id"]))
        what = "REPLACE" if all(channel in WRITES_IDX_MAP for channel, _ in writes) else "IGNORE"
        task = (*key, task_id, task_path)
        rows = [
            (*task, WRITES_IDX_MAP.get(channel, number), channel, *self.serde.dumps_typed(value))
            for number, (channel, value) in enumerate(writes)
        ]
        await self._write(_PUT_WRITE.format(what=what), rows)
        if self.late.is_late_write(*key) or any(channel == ERROR for channel, _ in writes):
            await self.late.redact_late(self, key[0], {})

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes a thread's checkpoints and writes."""
        await self.setup()
        async with self._transaction() as conn:
            for table in _TABLES:
                await conn.execute(f"DELETE FROM {table} WHERE thread_id = ?", (str(thread_id),))

    async def athreads_of(self, user: str) -> list[str]:
        """The threads whose state names `user` as theirs."""
        await self.setup()
        return sorted(row[0] for row in await self._fetch(_THREADS, (*self.serde.dumps_typed(user), user)))

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Deletes the checkpoints that these runs made, with their writes: a rollback."""
        if are_states_kept():
            return
        await self.setup()
        runs = [(str(run),) for run in run_ids]
        async with self._transaction() as conn:
            for table in _TABLES:
                await conn.executemany(
                    f"DELETE FROM {table} WHERE (thread_id, checkpoint_ns, checkpoint_id) IN {_OF_RUN}", runs
                )

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all of a thread's checkpoints and writes to another thread."""
        await self.setup()
        async with self._transaction() as conn:
            for table, columns in _COPIED.items():
                await conn.execute(
                    f"INSERT OR REPLACE INTO {table} (thread_id, {columns}) "
                    f"SELECT ?, {columns} FROM {table} WHERE thread_id = ?",
                    (str(target_thread_id), str(source_thread_id)),
                )

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Leaves the newest checkpoint of each namespace (`keep_latest`) or none (`delete`, `delete_all`)."""
        if strategy not in ("keep_latest", "delete", "delete_all"):
            raise ValueError(f"strategy must be 'keep_latest', 'delete' or 'delete_all', not {strategy!r}")
        for thread in map(str, thread_ids):
            if strategy == "keep_latest":
                await self.setup()
                async with self._transaction():
                    await self._delete(thread, superseded(await self._rows(thread)))
            else:
                await self.adelete_thread(thread)

    async def aredact(self, thread_id: str, mask: Mask) -> int:
        """Takes the words of `mask` out of a thread's checkpoints and writes; how many of them had any.

        One that a run replaces meanwhile is left to the next call.
        """
        await self.setup()
        stored = await self._fetch(_STORED, (str(thread_id),))
        written = await self._fetch(_STORED_WRITES, (str(thread_id),))
        states, writes = await asyncio.to_thread(self._redacted, stored, written, mask)
        for sql, rows in ((_REDACT, states), (_REDACT_WRITE, writes)):
            if rows:
                await self._write(sql, rows)
        return len(states) + len(writes)

    def delete_for_runs(self, run_ids: Iterable[str]) -> None:
        """`adelete_for_runs` for a thread without the event loop."""
        self._wait(self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`acopy_thread` for a thread without the event loop."""
        self._wait(self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`aprune` for a thread without the event loop."""
        self._wait(self.aprune(thread_ids, strategy=strategy))

    def _redacted(
        self, stored: Sequence[Any], written: Sequence[Any], mask: Mask
    ) -> tuple[list[Any], list[Any]]:
        """The parameters that rewrite the rows with words of `mask`."""
        states, writes = [], []
        for type_, data, *place in stored:
            known = self.serde.loads_typed((type_, data))
            if (changed := redacted_checkpoint(known, mask)) is not known:
                states.append((*self.serde.dumps_typed(changed), *place, data))
        for type_, data, channel, *place in written:
            known = self.serde.loads_typed((type_, data))
            if (changed := redacted(known, mask, channel)) != known:
                writes.append((*self.serde.dumps_typed(changed), *place, data))
        return states, writes

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[aiosqlite.Connection]:
        """One write transaction; undone on any failure, cancellation included.

        The connection's thread works in order, so the rollback comes after whatever was under way.
        """
        async with self.lock:
            with translated(self.place):
                try:
                    await self.conn.execute("BEGIN IMMEDIATE")
                    yield self.conn
                    await self.conn.commit()
                except BaseException:
                    await self.conn.rollback()
                    raise

    async def _write(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Executes `sql` for all rows or none, in one call of the connection's thread."""
        if not rows:
            return
        async with self.lock:
            try:
                with translated(self.place):
                    if "{rows}" in sql and len(rows) <= AT_ONCE:
                        await self.conn.execute(*together(sql, rows))
                    else:
                        await self.conn.executemany(sql.format(rows=marks(rows[0])), rows)
            except StorageLocked:
                if self._patience is None:
                    await self._hurry()
                raise
            if self._patience is not None:
                await self.conn.execute(f"PRAGMA busy_timeout = {self._patience}")
                self._patience = None

    async def _hurry(self) -> None:
        """Shortens the wait after a file was not free in time, for later writes of the same turn."""
        ((patience,),) = await self.conn.execute_fetchall("PRAGMA busy_timeout")
        await self.conn.execute(f"PRAGMA busy_timeout = {min(patience, HASTY_MILLISECONDS)}")
        self._patience = patience

    async def _fetch(self, sql: str, values: Sequence[Any]) -> list[Any]:
        async with self.lock:
            with translated(self.place):
                return list(await self.conn.execute_fetchall(sql, values))

    async def _rows(self, thread: str) -> list[Row]:
        return [Row(*row) for row in await self.conn.execute_fetchall(_ROWS, (thread,))]

    async def _delete(self, thread: str, keys: Iterable[Key]) -> None:
        rows = [(thread, *key) for key in keys]
        for start in range(0, len(rows), AT_ONCE):
            for table in _TABLES:
                await self.conn.execute(*together(DELETE.format(table=table), rows[start : start + AT_ONCE]))

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs `work` on the saver's loop; RuntimeError instead of a deadlock when called on that loop."""
        try:
            on_loop = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            on_loop = False
        if on_loop:
            work.close()
            raise RuntimeError("on the event loop use the method of the same name that begins with 'a'")
        asyncio.run_coroutine_threadsafe(work, self.loop).result()
