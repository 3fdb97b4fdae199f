"""LangGraph's MongoDB saver with what it lacks: rollback, copy, prune, and a bounded history."""

import asyncio
import builtins
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig, run_in_executor
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.mongodb import MongoDBSaver
from langgraph.checkpoint.mongodb.utils import DRIVER_METADATA, dumps_metadata, loads_metadata
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import ERROR
from pymongo import MongoClient, ReplaceOne
from pymongo.collection import Collection

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
from thoughtcycle.memory.redaction import Mask
from thoughtcycle.memory.storage import MONGO_DATABASE, mongo_time_outs, translated
from thoughtcycle.nodes.base.redaction import MaskOf, masked_tuple, redacted, redacted_checkpoint

_COPY_BATCH = 100
"""Documents per request: a checkpoint may hold some hundred kilobytes, a request 48 MB."""

_KEY = ("thread_id", "checkpoint_ns", "checkpoint_id")

Document = dict[str, Any]


class MongoSaver(MongoDBSaver):
    """Keeps checkpoints in the collections `checkpoints` and `checkpoint_writes` of a MongoDB database.

    Takes an open client. It speaks to the server when it is made, so make it off the event loop; the
    async methods run in the default executor. All methods raise StorageFailed when the server refuses.
    Without transactions, and so on any topology: writes are deleted before their checkpoints, by which
    they are found, and copied before them.
    """

    checkpoint_collection: Collection[Document]
    writes_collection: Collection[Document]

    def __init__(
        self,
        client: MongoClient[Document],
        db_name: str,
        *,
        place: str = "MongoDB",
        keep_turns: int = KEEP_TURNS,
        serde: SerializerProtocol | None = None,
    ) -> None:
        """`place` names the database in messages; `keep_turns` (1..1000) is how far regenerating reaches."""
        self.place = place
        self.keep_turns = checked_keep_turns(keep_turns)
        self.masks: MaskOf | None = None
        """Gives the words to take out of a state that an async method reads: those of hidden memories."""
        self.late = LateRedaction()
        with translated(place):
            super().__init__(client, db_name, serde=serde)
            self.checkpoint_collection.create_index("thread_id")
            self.checkpoint_collection.create_index("run_id")
            self.checkpoint_collection.create_index("owner")
            self.writes_collection.create_index("thread_id")

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, else the thread's newest; None when there is none."""
        place = config.get("configurable", {})
        thread, namespace = _text(place["thread_id"]), _text(place.get("checkpoint_ns", ""))
        query = {"thread_id": thread, "checkpoint_ns": namespace}
        if id := get_checkpoint_id(config):
            query["checkpoint_id"] = _text(id)
        with translated(self.place):
            found = self.checkpoint_collection.find_one(query, sort=[("checkpoint_id", -1)])
            return None if found is None else self._tuple(found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The matching checkpoints, newest first.

        `filter` is applied here: metadata values are stored as arrays, which not every server compares.
        """
        query: Document = {}
        place = config.get("configurable", {}) if config else {}
        for name in _KEY:
            if place.get(name) is not None:
                query[name] = _text(place[name])
        if before is not None:
            query.setdefault("checkpoint_id", {"$lt": _text(before.get("configurable", {})["checkpoint_id"])})
        left = limit
        with translated(self.place):
            for found in self.checkpoint_collection.find(query, sort=[("checkpoint_id", -1)]):
                if left == 0:
                    return
                about = loads_metadata(self.serde, found["metadata"]) if filter else {}
                if any(about.get(name) != value for name, value in (filter or {}).items()):
                    continue
                left = None if left is None else left - 1
                yield self._tuple(found)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint and, where a turn begins, deletes what lies too far behind."""
        place = config.get("configurable", {})
        ids = (place["thread_id"], place["checkpoint_ns"], checkpoint["id"])
        key: dict[str, Any] = dict(zip(_KEY, map(_text, ids), strict=True))
        type_, data = self.serde.dumps_typed(checkpoint)
        about: Mapping[str, Any] = get_checkpoint_metadata(config, metadata)
        fields = {
            "parent_checkpoint_id": place.get("checkpoint_id"),
            "type": type_,
            "checkpoint": data,
            "metadata": dumps_metadata(self.serde, about),
            **{name: about.get(name) for name in ("run_id", "source", "step")},
            # the writes tell it too, but not in a thread that was pruned or saved on exit only
            "owner": self.late.owner(key["thread_id"], checkpoint["channel_values"]),
        }
        with translated(self.place):
            self.checkpoint_collection.update_one(key, {"$set": fields}, upsert=True)
            if may_begin_turn(key["checkpoint_ns"], metadata, new_versions):
                rows = self._rows(key["thread_id"])
                self._delete(key["thread_id"], expired(rows, checkpoint["id"], self.keep_turns))
        return {"configurable": key}

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores what a task wrote on top of a checkpoint."""
        if not writes:
            return
        with translated(self.place):
            super().put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """Deletes a thread's checkpoints and writes."""
        query = {"thread_id": _text(thread_id)}
        with translated(self.place):
            self.writes_collection.delete_many(query)
            self.checkpoint_collection.delete_many(query)

    def delete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Deletes the checkpoints that these runs made, with their writes: a rollback."""
        query = {"run_id": {"$in": [str(run) for run in run_ids]}}
        shown = {"_id": 0, **dict.fromkeys(_KEY, 1)}
        threads: dict[str, list[Key]] = {}
        with translated(self.place):
            for row in self.checkpoint_collection.find(query, shown):
                threads.setdefault(row["thread_id"], []).append((row["checkpoint_ns"], row["checkpoint_id"]))
            for thread, keys in threads.items():
                self._delete(thread, keys)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all of a thread's checkpoints and writes to another thread."""
        source, target = _text(source_thread_id), _text(target_thread_id)
        with translated(self.place):
            _copy(self.writes_collection, source, target, (*_KEY, "task_id", "idx"))
            _copy(self.checkpoint_collection, source, target, _KEY)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Leaves the newest checkpoint of each namespace (`keep_latest`) or none (`delete`, `delete_all`)."""
        if strategy not in ("keep_latest", "delete", "delete_all"):
            raise ValueError(f"strategy must be 'keep_latest', 'delete' or 'delete_all', not {strategy!r}")
        for thread in thread_ids:
            if strategy == "keep_latest":
                with translated(self.place):
                    self._delete(thread, superseded(self._rows(thread)))
            else:
                self.delete_thread(thread)

    def threads_of(self, user: str) -> "builtins.list[str]":
        """The threads whose state names `user` as theirs."""
        type_, data = self.serde.dumps_typed(user)
        query, shown = {"channel": "user_id", "type": type_}, {"thread_id": 1, "value": 1}
        with translated(self.place):
            writes = self.writes_collection.find(query, shown)
            threads = {one["thread_id"] for one in writes if one["value"] == data}
            states = self.checkpoint_collection.find({"owner": _text(user)}, {"thread_id": 1})
            return sorted(threads | {one["thread_id"] for one in states})

    async def athreads_of(self, user: str) -> "builtins.list[str]":
        """`threads_of` in the executor."""
        return await run_in_executor(None, self.threads_of, user)

    def redact(self, thread_id: str, mask: Mask) -> int:
        """Takes the words of `mask` out of a thread's checkpoints and writes; how many of them had any."""
        query, count = {"thread_id": _text(thread_id)}, 0
        with translated(self.place):
            for found in self.checkpoint_collection.find(query):
                known = self.serde.loads_typed((found["type"], found["checkpoint"]))
                if (state := redacted_checkpoint(known, mask)) is not known:
                    count += self._replace(self.checkpoint_collection, found, "checkpoint", state)
            for found in self.writes_collection.find(query):
                value = self.serde.loads_typed((found["type"], found["value"]))
                if (changed := redacted(value, mask, found["channel"])) != value:
                    count += self._replace(self.writes_collection, found, "value", changed)
        return count

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple` in the executor, without the words of hidden memories."""
        return await masked_tuple(await run_in_executor(None, self.get_tuple, config), self.masks)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list` in the executor, without the words of hidden memories."""
        async for found in super().alist(config, filter=filter, before=before, limit=limit):
            masked = await masked_tuple(found, self.masks)
            if masked is not None:
                yield masked

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`put` in the executor; what was erased since the turn began goes at once."""
        place = config.get("configurable", {})
        self.late.note_checkpoint(place["thread_id"], place["checkpoint_ns"], checkpoint["id"])
        stored = await super().aput(config, checkpoint, metadata, new_versions)
        if metadata.get("source") != "input":  # the turn's first step follows, and is checked
            await self.late.redact_late(self, place["thread_id"], checkpoint["channel_values"])
        return stored

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """`put_writes` in the executor; a run that fails may have been that of a user who was forgotten."""
        await super().aput_writes(config, writes, task_id, task_path)
        place = config.get("configurable", {})
        key = (place["thread_id"], place["checkpoint_ns"], place["checkpoint_id"])
        if self.late.is_late_write(*key) or any(channel == ERROR for channel, _ in writes):
            await self.late.redact_late(self, key[0], {})

    async def aredact(self, thread_id: str, mask: Mask) -> int:
        """`redact` in the executor."""
        return await run_in_executor(None, self.redact, thread_id, mask)

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """`delete_for_runs` in the executor."""
        if are_states_kept():
            return
        await run_in_executor(None, self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`copy_thread` in the executor."""
        await run_in_executor(None, self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`prune` in the executor."""
        await run_in_executor(None, self.prune, thread_ids, strategy=strategy)

    def _tuple(self, found: Document) -> CheckpointTuple:
        key = {name: found[name] for name in _KEY}
        writes = sorted(
            self.writes_collection.find(key),
            key=lambda write: writes_sort_key(write["task_path"], write["task_id"], write["idx"]),
        )
        parent = found.get("parent_checkpoint_id")
        return CheckpointTuple(
            {"configurable": key},
            self.serde.loads_typed((found["type"], found["checkpoint"])),
            loads_metadata(self.serde, found["metadata"]),
            {"configurable": {**key, "checkpoint_id": parent}} if parent else None,
            [
                (write["task_id"], write["channel"], self.serde.loads_typed((write["type"], write["value"])))
                for write in writes
            ],
        )

    def _replace(self, collection: Collection[Document], found: Document, name: str, value: object) -> bool:
        """Writes another value in place of the one found, if its document is still there."""
        type_, data = self.serde.dumps_typed(value)
        change = {"$set": {"type": type_, name: data}}
        return bool(collection.update_one({"_id": found["_id"]}, change).matched_count)

    def _rows(self, thread: str) -> Iterator[Row]:
        names = ("checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "source", "step")
        shown = {"_id": 0, **dict.fromkeys(names, 1)}
        for found in self.checkpoint_collection.find({"thread_id": _text(thread)}, shown):
            yield Row._make(found.get(name) for name in names)

    def _delete(self, thread: str, keys: Iterable[Key]) -> None:
        ids = [id for _, id in keys]  # unique within a thread, whatever the namespace
        if not ids:
            return
        query = {"thread_id": thread, "checkpoint_id": {"$in": ids}}
        self.writes_collection.delete_many(query)
        self.checkpoint_collection.delete_many(query)


def _text(id: object) -> str:
    """`id` itself, if it is text: anything else could be read as an operator of a query."""
    if not isinstance(id, str):
        raise ValueError(f"an id must be a string, not {id!r}")
    return id


def _copy(collection: Collection[Document], source: str, target: str, key: tuple[str, ...]) -> None:
    """Copies a thread's documents; repeating it after a failure completes it."""
    batch: list[ReplaceOne[Document]] = []
    for found in collection.find({"thread_id": source}, {"_id": 0}):
        copied = {**found, "thread_id": target}
        batch.append(ReplaceOne({name: copied[name] for name in key}, copied, upsert=True))
        if len(batch) == _COPY_BATCH:
            collection.bulk_write(batch)
            batch.clear()
    if batch:
        collection.bulk_write(batch)


@asynccontextmanager
async def open_mongo(url: str, shown: str, keep_turns: int) -> AsyncIterator[MongoSaver]:
    """The saver for a MongoDB URL; its client is made and closed off the event loop."""
    with translated(shown):
        client: MongoClient[Document] = await asyncio.to_thread(
            MongoClient, url, driver=DRIVER_METADATA, **mongo_time_outs(url)
        )
    try:
        name = client.get_default_database(MONGO_DATABASE).name
        yield await asyncio.to_thread(MongoSaver, client, name, place=shown, keep_turns=keep_turns)
    finally:
        await asyncio.to_thread(client.close)
