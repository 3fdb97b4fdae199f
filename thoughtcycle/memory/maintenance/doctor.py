"""Checks stored data against the invariants that every write keeps, and repairs it where possible."""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.maintenance.document_checkup import document_issues, repair_documents
from thoughtcycle.memory.model import (
    DOCUMENT_ISSUES,
    STATUSES,
    Conversation,
    IntegrityIssue,
    MemoryRecord,
    file_of,
    item_space,
    utc_now,
)
from thoughtcycle.memory.storage import Census, CycleState, Storage

_PAGE = 500


class Maintenance:
    """Checks, repairs and counts the data of a user, or of the whole database."""

    def __init__(self, core: Core) -> None:
        self._storage = core.storage

    async def doctor(self, user: str | None = None, *, mend: bool = False) -> list[IntegrityIssue]:
        """The issues in the data of `user`; None: of all users, and of the database as a whole.

        With `mend` repairs first and returns the issues that are left.
        """
        found = []
        if mend and user is None:
            await self._storage.health.mend()
        for one in await self._storage.users.listing() if user is None else [owned(user), item_space(user)]:
            if mend:
                await repair(self._storage, one)
            found += await issues(self._storage, one)
        broken = await self._storage.health.integrity() if user is None else []
        return [*(IntegrityIssue("database", {"told": line}) for line in broken), *found]

    async def stats(self, user: str) -> Census:
        """How many memories (by status and kind), chats, cycles and changes a user has, and their bytes."""
        return await self._storage.users.census(owned(user))


@dataclass
class _Seen:
    """References and revisions of the memories of a space, without their content."""

    revisions: dict[str, int] = field(default_factory=dict)
    currents: dict[str, str] = field(default_factory=dict)
    keys: Counter[str] = field(default_factory=Counter)
    files: dict[str, str] = field(default_factory=dict)
    """Hash of a file → a memory that names it."""

    def add(self, record: MemoryRecord) -> None:
        self.revisions[record.id] = record.revision
        if record.current is not None:
            self.currents[record.id] = record.current
        if (sha256 := file_of(record.content)) is not None:
            self.files[sha256] = record.id
        if record.status == "active" and record.key is not None:
            self.keys[record.key] += 1


async def issues(storage: Storage, user: str) -> list[IntegrityIssue]:
    """The violated invariants in a user's data.

    Memories and vectors name each other (TC-15), journal numbers have no gap, every memory carries the
    number of the last row about it, a key names one active memory, a former version names a memory, memories
    and files name each other, a chat ends with a cycle of its own, every cycle is of a chat, closed cycles
    have a number each, open ones none. For conversation memories, profile and settings see
    `document_checkup`.
    """
    found = [issue async for issue in _of_memories(storage, user)]
    chats, states = await _chats(storage, user), await storage.health.cycle_states(user)
    documents = [issue for _, issue in await document_issues(storage, user, chats, states)]
    return [*found, *of_transcript(chats, states), *documents]


async def repair(storage: Storage, user: str) -> None:
    """Repairs the issues that are repairable; idempotent.

    A missing vector is not listed any more (the memory is found by its words), a stray one is deleted. A
    chat whose end is missing ends with its last closed cycle; a chat that is missing comes back, nameless.
    A file that no memory names is deleted. A document that cannot be used is dropped, and its cycles wait
    for formation again.
    """
    found = await issues(storage, user)
    codes = {issue.code for issue in found}
    for issue in found:
        if issue.code == "file_stray":
            await storage.files.drop(user, str(issue.values["file"]))
    if codes & {"vector_missing", "vector_stray"}:
        await storage.health.mend_vectors(user)
    states = await storage.health.cycle_states(user)
    if "cycle_number" in codes:
        for id in _wrongly_numbered(states):
            await storage.transcript.amend_cycle(user, id, lambda cycle: cycle, anew=True)
        states = await storage.health.cycle_states(user)
    if codes & {"tip_missing", "chat_missing"}:
        chats = await _chats(storage, user)
        for issue in of_transcript(chats, states):
            if issue.code in ("tip_missing", "chat_missing"):
                id, at = str(issue.values["chat"]), utc_now()
                chat = chats.get(id) or Conversation(id=id, user=user, created=at, updated=at)
                closed = [(one.number or 0, one.id) for one in states if one.chat == id and not one.open]
                tip = max(closed)[1] if closed else None
                await storage.chats.adopt(chat.model_copy(update={"tip": tip}))
    if codes & DOCUMENT_ISSUES:
        chats = await _chats(storage, user)
        await repair_documents(storage, user, chats, await storage.health.cycle_states(user))


async def _of_memories(storage: Storage, space: str) -> AsyncIterator[IntegrityIssue]:
    seen, after = _Seen(), 0
    while records := await storage.memories.listing(space, STATUSES, after=after, limit=_PAGE):
        vectors = await storage.memories.vectors(space, [record.id for record in records])
        present = {(vector.memory, vector.id) for vector in vectors}
        for record in records:
            seen.add(record)
            for id in record.vector_ids:
                if (record.id, id) not in present:
                    yield IntegrityIssue("vector_missing", {"memory": record.id, "vector": id})
        after = records[-1].revision
    for id in await storage.health.stray_vectors(space):
        yield IntegrityIssue("vector_stray", {"vector": id})
    last: dict[str, int] = {}
    number, known = 0, not await storage.users.epoch(space)
    while entries := await storage.memories.journal(space, after=number, limit=_PAGE):
        for entry in entries:
            if known and entry.number != number + 1:
                yield IntegrityIssue("journal_gap", {"before": entry.number, "after": number})
            number, known = entry.number, True
            last[entry.memory] = number
    for issue in of_journal(seen.revisions, last, seen.currents, seen.keys):
        yield issue
    async for issue in _of_files(storage, space, seen.files):
        yield issue


async def _of_files(storage: Storage, user: str, named: Mapping[str, str]) -> AsyncIterator[IntegrityIssue]:
    """The issues of the user's files; `named`: hash → a memory, not erased, that names it.

    Reads every file and compares its hash with the one under which it is stored.
    """
    there = await storage.files.listing(user)
    for sha256, memory in named.items():
        if sha256 not in there:
            yield IntegrityIssue("file_missing", {"memory": memory, "file": sha256})
    for sha256 in there:
        if sha256 not in named:
            yield IntegrityIssue("file_stray", {"file": sha256})
            continue
        data = await storage.files.get(user, sha256)
        if data is not None and hashlib.sha256(data).hexdigest() != sha256:
            yield IntegrityIssue("file_damaged", {"memory": named[sha256], "file": sha256})


def of_journal(
    revisions: Mapping[str, int],
    last: Mapping[str, int],
    currents: Mapping[str, str],
    keys: Mapping[str, int],
) -> Iterator[IntegrityIssue]:
    """The mismatches between memories (`revisions`, `currents`, `keys`) and their `last` journal rows."""
    for id, revision in revisions.items():
        if last.get(id) != revision:
            yield IntegrityIssue("revision", {"memory": id, "revision": revision, "journal": last.get(id)})
    for id in sorted(last.keys() - revisions.keys()):
        yield IntegrityIssue("memory_missing", {"memory": id})
    for id, current in currents.items():
        if current not in revisions:
            yield IntegrityIssue("version_lost", {"memory": id, "current": current})
    for key, number in keys.items():
        if number > 1:
            yield IntegrityIssue("key_twice", {"key": key})


def of_transcript(
    chats: Mapping[str, Conversation], states: Sequence[CycleState]
) -> Iterator[IntegrityIssue]:
    """The mismatches between a user's chats and cycles."""
    places = {state.id: state.chat for state in states}
    for chat in chats.values():
        if chat.tip is not None and places.get(chat.tip) != chat.id:
            yield IntegrityIssue("tip_missing", {"chat": chat.id, "cycle": chat.tip})
    for id in dict.fromkeys(state.chat for state in states):
        if id not in chats:
            yield IntegrityIssue("chat_missing", {"chat": id})
    for id in _wrongly_numbered(states):
        yield IntegrityIssue("cycle_number", {"cycle": id})


def _wrongly_numbered(states: Sequence[CycleState]) -> list[str]:
    """Closed cycles without a number of their own, and open ones with one."""
    times = Counter(state.number for state in states)
    return [
        state.id
        for state in states
        if state.open != (state.number is None) or (state.number is not None and times[state.number] > 1)
    ]


async def _chats(storage: Storage, user: str) -> dict[str, Conversation]:
    found: dict[str, Conversation] = {}
    after = None
    while page := await storage.chats.conversations(user, after=after, limit=_PAGE):
        found |= {chat.id: chat for chat in page}
        after = page[-1].id
    return found
