"""Import of our own export: chats, cycles and memories with their history, each once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.chats import is_empty
from thoughtcycle.memory.conversation import dumped, recounted
from thoughtcycle.memory.core import Core
from thoughtcycle.memory.index import embed, packed
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
from thoughtcycle.memory.text import identity
from thoughtcycle.memory.transfer.format import OF, Line, to_access, to_change, to_chat, to_cycle, to_memory
from thoughtcycle.memory.transfer.format_documents import moved_judgement, moved_sheet, to_sheet
from thoughtcycle.memory.transfer.format_files import Parts
from thoughtcycle.memory.transfer.import_file import Contents, checked, line_at, lines
from thoughtcycle.memory.versioning import Keys, live_path, search_keys, with_vectors

_AT_ONCE = 200

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Told how much is done, of how much."""


@dataclass
class Imported:
    """What an import added; what was there already does not count."""

    chats: int = 0
    cycles: int = 0
    memories: int = 0
    """Former versions aside, as an export counts them."""
    changes: int = 0
    sheets: int = 0
    """Memories of chats, profile, settings."""
    files: int = 0


@dataclass
class _Replay:
    """How far the journal of a file was read: which row of which memory comes next, and what became of it."""

    user: str
    path: Path
    places: Mapping[str, int]
    renamed: Callable[[str], str]
    read: Counter[str] = field(default_factory=Counter)
    """Memory → how many of its rows were read."""
    numbers: dict[int, int] = field(default_factory=dict)
    """Number in the file → number here."""
    instead: dict[str, str] = field(default_factory=dict)
    """A memory that is not taken → the one here that says the same."""
    left: set[str] = field(default_factory=set)
    """Memories that went another way here; they stay as they are."""
    found: dict[str, Access] = field(default_factory=dict)
    """Memory → how often it was found where the file comes from."""

    def note_accesses(self, some: Sequence[Line]) -> None:
        """Notes how often the memories of these lines were found."""
        for line in some:
            if line["line"] in ("memory", "version") and (access := to_access(line)) is not None:
                self.found[self.renamed(line["_id"])] = access


class OwnImport:
    """Takes in what `export` wrote."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._clock = core.clock
        self._embeddings = core.embeddings
        self._model = core.model
        self._storage = core.storage

    async def import_own(self, user: str, path: Path, progress: Progress) -> Imported:
        """See `import_file`. The file is read twice: once to find whether it is whole."""
        contents, strange = Contents(""), False
        async for right in _in_batches(checked(path)):
            contents = right[-1][1]
            for space, theirs in _by_space(user, [line for line, _ in right]):
                strange = strange or await self._storage.users.strangers(space, **_ids(theirs))
        renamed = _renaming(user) if strange or contents.user != user else str
        done = Imported()
        total, seen = sum(contents.counted.values()), 0
        chat: list[Line] = []
        replays: dict[str, _Replay] = {}
        parts, brought = Parts(), set[str]()
        async for some in _in_batches(lines(path)):
            for _, line in some:
                if line["line"] != "cycle" and chat:
                    await self._take_chat(user, chat, done)
                    chat = []
                if line["line"] in ("chat", "cycle"):
                    chat.append(moved(line, renamed))
                if line["line"] == "sheet":
                    done.sheets += await self._take_sheet(user, moved_sheet(line, renamed))
            for _, line in some:
                if line["line"] == "file" and (data := parts.add(line)) is not None:
                    brought.add(await self._take_file(user, line["sha256"], data))
            for space, theirs in _by_space(user, [line for _, line in some]):
                replay = replays.setdefault(space, _Replay(space, path, contents.places, renamed))
                replay.note_accesses(theirs)
                rows = [
                    line for line in theirs if line["line"] == "change" and line["memory"] in replay.places
                ]
                for group in distinct(rows):
                    await self._take_changes(replay, group, done)
            seen += len(some)
            progress(min(seen, total), total)
        for replay in replays.values():
            await self._take_accesses(replay)
        for sha256 in brought - {""}:
            done.files += not await self._storage.files.drop(user, sha256)  # its memory may not be taken
        return done

    async def _take_file(self, user: str, sha256: str, data: bytes) -> str:
        """Keeps a file before the memory that names it; its hash, or "" where it is here already."""
        if sha256 in await self._storage.files.listing(user):
            return ""
        await self._storage.files.put(user, sha256, data)
        return sha256

    async def _take_accesses(self, replay: _Replay) -> None:
        """Raises the access counts to those of the file: however often it is read, they are the same."""
        found = sorted(replay.found.items(), key=lambda one: one[1].count)
        counts = {
            replay.instead.get(id, id): access for id, access in found
        }  # of two that are one the higher
        for start in range(0, len(counts), _AT_ONCE):
            some = dict(islice(counts.items(), start, start + _AT_ONCE))
            await self._storage.memories.touch(replay.user, some, at_least=True)

    async def _take_chat(self, user: str, found: Sequence[Line], done: Imported) -> None:
        """A chat and its cycles; its live branch is the file's where that goes on from the one here."""
        chat = to_chat(found[0], user)
        known = await self._storage.chats.claim(chat.id, user, self._clock(), created=chat.created)
        if known.user != user:
            raise NotAllowed("chat_of_another")
        there = await self._storage.transcript.links(user, [chat.id])
        cycles = [to_cycle(line, user) for line in found[1:]]
        if known.tip is None and any(
            map(is_empty, await self._storage.transcript.cycles(user, list(there)[:1]))
        ):
            return  # deleted here
        for cycle in cycles:
            if cycle.id not in there:
                await self._storage.transcript.add_cycle(cycle)
                done.cycles += 1
        links = {cycle.id: cycle.parent for cycle in cycles}
        if known.tip is None or (known.tip != chat.tip and known.tip in live_path(links, chat.tip)):
            await self._storage.chats.adopt(chat.model_copy(update={"title": known.title or chat.title}))
            done.chats += known.tip is None

    async def _take_sheet(self, user: str, line: Line) -> bool:
        """Whether a sheet was added: one that is here, or went with its chat, stays as it is."""
        at, record = to_sheet(line, user)
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
            record = recounted(record)  # hidden words were counted
        document, rows = dumped(record, 1)
        return await documents.put(user, name, document, before=0, at=at, entries=rows)

    async def _take_changes(self, replay: _Replay, rows: Sequence[Line], done: Imported) -> None:
        """Repeats rows of the journal, one of each memory; those that are here already are left out."""
        user, wanted = replay.user, []
        versions: set[str] = set()
        for row in rows:
            entry = to_change(moved(row, replay.renamed), user)
            line = await asyncio.to_thread(line_at, replay.path, replay.places[row["memory"]])
            wanted.append((entry, to_memory(moved(line, replay.renamed), user), row["number"]))
            if line["line"] == "version":
                versions.add(entry.memory)
        texts = [text for _, one, _ in wanted for text in search_keys(one)]
        new = {entry.memory for entry, _, _ in wanted if not replay.read[entry.memory]}
        data = packed(await embed(self._embeddings, texts)) if new else {}

        async def plan() -> tuple[list[Write], list[tuple[JournalEntry, int]]]:
            return await self._replayed(replay, wanted, Keys(self._model, data))

        stored, told = await self._core.change(user, plan)
        for entry, number in told:
            replay.numbers[number] = stored[entry.memory].revision
        for entry, _, _ in wanted:
            replay.read[entry.memory] += 1
        done.changes += len(told)
        done.memories += sum(entry.before is None and entry.memory not in versions for entry, _ in told)

    async def _replayed(
        self, replay: _Replay, wanted: Sequence[tuple[JournalEntry, MemoryRecord, int]], keys: Keys
    ) -> tuple[list[Write], list[tuple[JournalEntry, int]]]:
        """The writes for rows that are not here yet, and these rows with their numbers in the file."""
        user = replay.user
        here = {
            one.id: one
            for one in await self._storage.memories.records(user, [one.id for _, one, _ in wanted])
        }
        new = [one for _, one, _ in wanted if one.id not in here and one.status == "active"]
        holders = await self._storage.memories.same(
            user,
            identities={identity(one.type, one.content) for one in new},
            keys={one.key for one in new if one.key is not None},
        )
        writes, told = [], []
        for entry, record, number in wanted:
            if record.id in replay.left or record.id in replay.instead:
                continue
            stored = here.get(record.id)
            if stored is None:
                if (same := _holder(record, holders)) is not None and says_same(same, record):
                    replay.instead[record.id] = same.id
                    continue
                write = _first(entry, record, same, replay.instead, keys)
            else:
                rows = (await self._storage.memories.journal(user, memories=[record.id]))[::-1]
                read = replay.read[entry.memory]
                if len(rows) > read:
                    if (rows[read].at, rows[read].op) != (entry.at, entry.op):
                        replay.left.add(record.id)
                    replay.numbers[number] = rows[read].number
                    continue
                write = _next(entry, record, stored, replay.numbers)
            writes.append(write)
            told.append((entry, number))
        return writes, told


def says_same(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether both have the same content."""
    return identity(one.type, one.content) == identity(other.type, other.content)


def _holder(record: MemoryRecord, holders: Sequence[MemoryRecord]) -> MemoryRecord | None:
    """The active memory that says the same as `record`, else the one that holds its key."""
    if record.status != "active":
        return None
    keyed = [one for one in holders if record.key is not None and one.key == record.key]
    return next((one for one in holders if says_same(one, record)), next(iter(keyed), None))


def _first(
    entry: JournalEntry,
    record: MemoryRecord,
    holder: MemoryRecord | None,
    instead: Mapping[str, str],
    keys: Keys,
) -> Write:
    """The write that brings a memory in; where another holds its key, as a former version of that one."""
    if record.current is not None and record.current in instead:
        record = record.model_copy(update={"current": instead[record.current]})
    if holder is not None:
        former = {"status": "superseded", "current": holder.id, "valid_to": holder.valid_from}
        record = record.model_copy(update=former)
    vectors = keys.made(record)
    return Write(with_vectors(record, vectors), entry.op, entry.at, vectors=vectors, cycle=entry.cycle)


def _next(
    entry: JournalEntry, record: MemoryRecord, stored: MemoryRecord, numbers: Mapping[int, int]
) -> Write:
    """The write that adds a row to a memory that is here; its document is the file's from the first on."""
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


def moved(line: Line, renamed: Callable[[str], str]) -> Line:
    """`line` with `renamed` ids of chats, cycles and memories."""
    changed = dict(line)
    for name in ("id", "_id", "chat", "tip", "parent", "memory", "cycle", "current"):
        if isinstance(changed.get(name), str):
            changed[name] = renamed(changed[name])
    for name in ("source", "before"):
        if isinstance(changed.get(name), dict):
            changed[name] = moved(changed[name], renamed)
    if "variants" in changed:
        variants = [dict(variant, steps=_found(variant["steps"], renamed)) for variant in line["variants"]]
        progress = [[one[0], _found([one[1]], renamed)[0], one[2]] for one in line["progress"]]
        changed.update(variants=variants, progress=progress)
    if changed.get("judgement") is not None:
        changed["judgement"] = moved_judgement(changed["judgement"], renamed)
    return changed


def _found(steps: Sequence[dict[str, Any]], renamed: Callable[[str], str]) -> list[dict[str, Any]]:
    return [
        {**step, "found": [renamed(id) for id in step["found"]]} if "found" in step else step
        for step in steps
    ]


def _renaming(user: str) -> Callable[[str], str]:
    return lambda id: named_id("imported", user, id)


def _by_space(user: str, some: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    """The lines about the user's memories, and those about what apps keep for the user."""
    items = [line for line in some if OF in line]
    yield user, [line for line in some if OF not in line] if items else list(some)
    if items:
        yield item_space(user), items


def _ids(some: Sequence[Line]) -> dict[str, list[str]]:
    names = {"chats": ("chat", "id"), "cycles": ("cycle", "id"), "memories": ("memory", "_id")}
    found = {
        name: [line[field] for line in some if line["line"] == kind] for name, (kind, field) in names.items()
    }
    found["memories"] += [line["_id"] for line in some if line["line"] == "version"]
    return found


async def _in_batches(found: Iterator[T]) -> AsyncIterator[list[T]]:
    """`found`, some at a time, read off the event loop."""
    while some := await asyncio.to_thread(lambda: list(islice(found, _AT_ONCE))):
        yield some
