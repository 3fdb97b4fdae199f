"""Imports an export of this program: chats, cycles and memories with their history; idempotent."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.chats import is_empty
from thoughtcycle.memory.conversation import dumped, recounted
from thoughtcycle.memory.core import Core
from thoughtcycle.memory.index import packed
from thoughtcycle.memory.model import (
    Access,
    ConversationMemory,
    JournalEntry,
    MemoryRecord,
    UserSettings,
    item_space,
    named_id,
)
from thoughtcycle.memory.storage import DocumentName, Write
from thoughtcycle.memory.text.analyzer import identity
from thoughtcycle.memory.transfer.format import (
    OF,
    FileParts,
    Line,
    to_access,
    to_change,
    to_chat,
    to_cycle,
    to_memory,
)
from thoughtcycle.memory.transfer.format_documents import renamed_document, renamed_judgement, to_document
from thoughtcycle.memory.transfer.import_file import Contents, batches, checked, lines
from thoughtcycle.memory.versioning.branches import live_path
from thoughtcycle.memory.versioning.record_writes import SearchVectors, search_keys, with_vectors

_BATCH = 200

Progress = Callable[[int, int], None]
"""Called with the number of lines or chats that are done, and of all."""


@dataclass
class Imported:
    """Counts of what an import added."""

    chats: int = 0
    cycles: int = 0
    memories: int = 0
    """Without former versions, as an export counts them."""
    changes: int = 0
    sheets: int = 0
    """Memories of chats, profile, settings."""
    files: int = 0


@dataclass
class _Replay:
    """Progress through the journal of a file, for one memory space."""

    user: str
    path: Path
    places: Mapping[str, int]
    rename: Callable[[str], str]
    read: Counter[str] = field(default_factory=Counter)
    """Memory → how many of its rows were read."""
    numbers: dict[int, int] = field(default_factory=dict)
    """Number in the file → number here."""
    instead: dict[str, str] = field(default_factory=dict)
    """A memory that is not imported → the one here with the same content."""
    diverged: set[str] = field(default_factory=set)
    """Memories with another history here; they stay as they are."""
    accesses: dict[str, Access] = field(default_factory=dict)
    """Memory → its access count in the file."""


class OwnImport:
    """Imports the files that `export` writes."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._clock = core.clock
        self._model = core.model
        self._storage = core.storage

    async def import_own(self, user: str, path: Path, progress: Progress) -> Imported:
        """See `import_file`. The file is read twice: first to check that it is complete."""
        contents, strange = Contents(""), False
        async for valid in batches(checked(path), _BATCH):
            contents = valid[-1][1]
            for space, theirs in _by_space(user, [line for line, _ in valid]):
                strange = strange or await self._storage.users.strangers(space, **_ids(theirs))
        foreign = strange or contents.user != user
        rename: Callable[[str], str] = (lambda id: named_id("imported", user, id)) if foreign else str
        done = Imported()
        total, seen = sum(contents.counted.values()), 0
        chat: list[Line] = []
        replays: dict[str, _Replay] = {}
        parts, added = FileParts(), set[str]()
        async for batch in batches(lines(path), _BATCH):
            for _, line in batch:
                kind = line["line"]
                if kind != "cycle" and chat:
                    await self._add_chat(user, chat, done)
                    chat = []
                if kind in ("chat", "cycle"):
                    chat.append(renamed(line, rename))
                elif kind == "sheet":
                    done.sheets += await self._add_document(user, renamed_document(line, rename))
                elif kind == "file" and (data := parts.add(line)) is not None:
                    sha256 = line["sha256"]
                    if sha256 not in await self._storage.files.listing(user):
                        await self._storage.files.put(user, sha256, data)  # before the memory that names it
                        added.add(sha256)
            for space, theirs in _by_space(user, [line for _, line in batch]):
                replay = replays.setdefault(space, _Replay(space, path, contents.places, rename))
                await self._replay(replay, theirs, done)
            seen += len(batch)
            progress(min(seen, total), total)
        for replay in replays.values():
            await self._raise_accesses(replay)
        for sha256 in added:
            done.files += not await self._storage.files.drop(user, sha256)  # its memory may not be imported
        return done

    async def _replay(self, replay: _Replay, batch: Sequence[Line], done: Imported) -> None:
        for line in batch:
            if line["line"] in ("memory", "version") and (access := to_access(line)) is not None:
                replay.accesses[replay.rename(line["_id"])] = access
        rows = [line for line in batch if line["line"] == "change" and line["memory"] in replay.places]
        for group in distinct(rows):
            await self._add_changes(replay, group, done)

    async def _raise_accesses(self, replay: _Replay) -> None:
        """Raises the access counts to those of the file (idempotent); the higher of merged memories."""
        found = sorted(replay.accesses.items(), key=lambda one: one[1].count)
        counts = {replay.instead.get(id, id): access for id, access in found}
        for start in range(0, len(counts), _BATCH):
            batch = dict(islice(counts.items(), start, start + _BATCH))
            await self._storage.memories.touch(replay.user, batch, at_least=True)

    async def _add_chat(self, user: str, found: Sequence[Line], done: Imported) -> None:
        """Adds a chat and its cycles; the live branch becomes the file's if that continues the one here."""
        chat = to_chat(found[0], user)
        known = await self._storage.chats.claim(chat.id, user, self._clock(), created=chat.created)
        if known.user != user:
            raise NotAllowed("chat_of_another")
        there = await self._storage.transcript.links(user, [chat.id])
        cycles = [to_cycle(line, user) for line in found[1:]]
        first = await self._storage.transcript.cycles(user, list(there)[:1])
        if known.tip is None and any(map(is_empty, first)):
            return  # deleted here
        for cycle in cycles:
            if cycle.id not in there:
                await self._storage.transcript.add_cycle(cycle)
                done.cycles += 1
        links = {cycle.id: cycle.parent for cycle in cycles}
        if known.tip is None or (known.tip != chat.tip and known.tip in live_path(links, chat.tip)):
            await self._storage.chats.adopt(chat.model_copy(update={"title": known.title or chat.title}))
            done.chats += known.tip is None

    async def _add_document(self, user: str, line: Line) -> bool:
        """Adds a document unless there is one here, or its chat was deleted; whether it was added."""
        at, record = to_document(line, user)
        documents = self._storage.documents
        if isinstance(record, UserSettings):
            if new := await documents.settings(user) is None:
                await documents.change_settings(user, record.model_dump(exclude={"user", "revision"}))
            return new
        name: DocumentName = ("profile", "")
        if isinstance(record, ConversationMemory):
            if await self._storage.chats.owner(record.chat_id) != user:
                return False
            name = ("conversation", record.chat_id)
            record = recounted(record)  # the counts include hidden words
        document, rows = dumped(record, 1)
        return await documents.put(user, name, document, before=0, at=at, entries=rows)

    async def _add_changes(self, replay: _Replay, rows: Sequence[Line], done: Imported) -> None:
        """Repeats rows of the journal, at most one of each memory, unless they are here already."""
        user, wanted = replay.user, []
        versions: set[str] = set()
        for row in rows:
            entry = to_change(renamed(row, replay.rename), user)
            at = replay.places[row["memory"]]
            _, line = await asyncio.to_thread(lambda at: next(lines(replay.path, at)), at)
            wanted.append((entry, to_memory(renamed(line, replay.rename), user), row["number"]))
            if line["line"] == "version":
                versions.add(entry.memory)
        texts = [text for _, one, _ in wanted for text in search_keys(one)]
        new = {entry.memory for entry, _, _ in wanted if not replay.read[entry.memory]}
        data = packed(await self._core.embed_to_save(texts, None)) if new else {}

        async def plan() -> tuple[list[Write], list[tuple[JournalEntry, int]]]:
            return await self._plan_changes(replay, wanted, SearchVectors(self._model, data))

        stored, added = await self._core.change(user, plan)
        for entry, number in added:
            replay.numbers[number] = stored[entry.memory].revision
        replay.read.update(entry.memory for entry, _, _ in wanted)
        done.changes += len(added)
        done.memories += sum(entry.before is None and entry.memory not in versions for entry, _ in added)

    async def _plan_changes(
        self, replay: _Replay, wanted: Sequence[tuple[JournalEntry, MemoryRecord, int]], keys: SearchVectors
    ) -> tuple[list[Write], list[tuple[JournalEntry, int]]]:
        """The writes for rows that are not here yet, and these rows with their numbers in the file."""
        user = replay.user
        records = await self._storage.memories.records(user, [one.id for _, one, _ in wanted])
        here = {one.id: one for one in records}
        new = [one for _, one, _ in wanted if one.id not in here and one.status == "active"]
        holders = await self._storage.memories.same(
            user,
            identities={identity(one.type, one.content) for one in new},
            keys={one.key for one in new if one.key is not None},
        )
        writes, added = [], []
        for entry, record, number in wanted:
            if record.id in replay.diverged or record.id in replay.instead:
                continue
            stored = here.get(record.id)
            if stored is None:
                if (same := _holder(record, holders)) is not None and _same_content(same, record):
                    replay.instead[record.id] = same.id
                    continue
                write = _first(entry, record, same, replay.instead, keys)
            else:
                rows = (await self._storage.memories.journal(user, memories=[record.id]))[::-1]
                read = replay.read[entry.memory]
                if len(rows) > read:
                    if (rows[read].at, rows[read].op) != (entry.at, entry.op):
                        replay.diverged.add(record.id)
                    replay.numbers[number] = rows[read].number
                    continue
                write = _next(entry, record, stored, replay.numbers)
            writes.append(write)
            added.append((entry, number))
        return writes, added


def _same_content(one: MemoryRecord, other: MemoryRecord) -> bool:
    return identity(one.type, one.content) == identity(other.type, other.content)


def _holder(record: MemoryRecord, holders: Sequence[MemoryRecord]) -> MemoryRecord | None:
    """The active memory with the content of `record`, else the one with its key."""
    if record.status != "active":
        return None
    same = [one for one in holders if _same_content(one, record)]
    keyed = [one for one in holders if record.key is not None and one.key == record.key]
    return next(iter([*same, *keyed]), None)


def _first(
    entry: JournalEntry,
    record: MemoryRecord,
    holder: MemoryRecord | None,
    instead: Mapping[str, str],
    keys: SearchVectors,
) -> Write:
    """The write that adds a memory; where another has its key, as a former version of that one."""
    if record.current is not None and record.current in instead:
        record = record.model_copy(update={"current": instead[record.current]})
    if holder is not None:
        former = {"status": "superseded", "current": holder.id, "valid_to": holder.valid_from}
        record = record.model_copy(update=former)
    vectors = keys.vectors_for(record)
    return Write(with_vectors(record, vectors), entry.op, entry.at, vectors=vectors, cycle=entry.cycle)


def _next(
    entry: JournalEntry, record: MemoryRecord, stored: MemoryRecord, numbers: Mapping[int, int]
) -> Write:
    """The write that adds a row to a memory that is here."""
    if stored.status == "superseded" and record.status == "active":
        record = stored  # another memory here holds its key
    before = (entry.before or stored).model_copy(update={"revision": stored.revision})
    after = record.model_copy(update={"vector_ids": stored.vector_ids})
    undoes = numbers.get(entry.undoes) if entry.undoes is not None else None
    return Write(after, entry.op, entry.at, before=before, cycle=entry.cycle, undoes=undoes)


def distinct(rows: Sequence[Line]) -> Iterator[list[Line]]:
    """`rows` in order, in groups that name each memory once."""
    group: list[Line] = []
    for row in rows:
        if any(row["memory"] == other["memory"] for other in group):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def renamed(line: Line, rename: Callable[[str], str]) -> Line:
    """`line` with the ids of chats, cycles and memories passed through `rename`."""
    changed = dict(line)
    for name in ("id", "_id", "chat", "tip", "parent", "memory", "cycle", "current"):
        if isinstance(changed.get(name), str):
            changed[name] = rename(changed[name])
    for name in ("source", "before"):
        if isinstance(changed.get(name), dict):
            changed[name] = renamed(changed[name], rename)
    if "variants" in changed:
        changed["variants"] = [
            dict(variant, steps=[_renamed_step(step, rename) for step in variant["steps"]])
            for variant in line["variants"]
        ]
        changed["progress"] = [[one[0], _renamed_step(one[1], rename), one[2]] for one in line["progress"]]
    if changed.get("judgement") is not None:
        changed["judgement"] = renamed_judgement(changed["judgement"], rename)
    return changed


def _renamed_step(step: dict[str, Any], rename: Callable[[str], str]) -> dict[str, Any]:
    return {**step, "found": [rename(id) for id in step["found"]]} if "found" in step else step


def _by_space(user: str, batch: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    """The lines about the user's memories, and those about apps' items for the user."""
    yield user, [line for line in batch if OF not in line]
    if items := [line for line in batch if OF in line]:
        yield item_space(user), items


def _ids(batch: Sequence[Line]) -> dict[str, list[str]]:
    return {
        "chats": [line["id"] for line in batch if line["line"] == "chat"],
        "cycles": [line["id"] for line in batch if line["line"] == "cycle"],
        "memories": [line["_id"] for line in batch if line["line"] in ("memory", "version")],
    }
