"""Checks what is stored against the invariants that every write keeps, and repairs what can be repaired."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from thoughtcycle.memory.maintenance.document_checkup import DOCUMENT_ISSUES, mend_sheets, sheet_flaws
from thoughtcycle.memory.maintenance.file_checkup import file_flaws
from thoughtcycle.memory.model import REPAIRABLE as REPAIRABLE
from thoughtcycle.memory.model import STATUSES, Conversation, MemoryRecord, file_of, utc_now
from thoughtcycle.memory.model import IntegrityIssue as IntegrityIssue
from thoughtcycle.memory.storage import CycleState, Storage

_PAGE = 500


@dataclass
class _Seen:
    """What the documents of a space tell, without what they say."""

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


async def problems(storage: Storage, user: str) -> list[str]:
    """`flaws` of a user as lines; [] when everything fits together."""
    return [flaw.text() for flaw in await flaws(storage, user)]


async def flaws(storage: Storage, user: str) -> list[IntegrityIssue]:
    """What is wrong with a user's data.

    Documents and vectors name each other (TC-15), journal numbers have no gap, every document carries the
    number of the last row about it, a key names one active memory, a former version names a memory, memories
    and files name each other, a chat ends with a cycle of its own, every cycle is of a chat, closed cycles
    have a number each, open ones none.
    Of sheets see `sheet_checkup.of_sheet`.
    """
    found = [flaw async for flaw in _of_memories(storage, user)]
    chats = {chat.id: chat async for chat in _chats(storage, user)}
    states = await storage.health.cycle_states(user)
    sheets = [flaw for _, flaw in await sheet_flaws(storage, user, chats, states)]
    return [*found, *of_transcript(chats, states), *sheets]


async def repair(storage: Storage, user: str) -> None:
    """Puts right what is REPAIRABLE; running it again changes nothing.

    A missing vector is not listed any more (the memory is found by its words), a stray one is deleted. A
    chat whose end is missing ends with its last closed cycle; a chat that is missing comes back, nameless.
    A file that no memory names is deleted. A sheet that cannot be used goes, and its cycles wait for
    formation again.
    """
    found = await flaws(storage, user)
    codes = {flaw.code for flaw in found}
    for flaw in found:
        if flaw.code == "file_stray":
            await storage.files.drop(user, str(flaw.values["file"]))
    if codes & {"vector_missing", "vector_stray"}:
        await storage.health.mend_vectors(user)
    states = await storage.health.cycle_states(user)
    if "cycle_number" in codes:
        for id in wrongly_numbered(states):
            await storage.transcript.amend_cycle(user, id, lambda cycle: cycle, anew=True)
        states = await storage.health.cycle_states(user)
    if codes & {"tip_missing", "chat_missing"}:
        chats = {chat.id: chat async for chat in _chats(storage, user)}
        for flaw in of_transcript(chats, states):
            if flaw.code in ("tip_missing", "chat_missing"):
                id, at = str(flaw.values["chat"]), utc_now()
                chat = chats.get(id) or Conversation(id=id, user=user, created=at, updated=at)
                await storage.chats.adopt(chat.model_copy(update={"tip": last_closed(states, id)}))
    if codes & DOCUMENT_ISSUES:
        chats = {chat.id: chat async for chat in _chats(storage, user)}
        await mend_sheets(storage, user, chats, await storage.health.cycle_states(user))


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
    for flaw in of_journal(seen.revisions, last, seen.currents, seen.keys):
        yield flaw
    async for flaw in file_flaws(storage, space, seen.files):
        yield flaw


def of_journal(
    revisions: Mapping[str, int],
    last: Mapping[str, int],
    currents: Mapping[str, str],
    keys: Mapping[str, int],
) -> Iterator[IntegrityIssue]:
    """What does not fit between documents (`revisions`, `currents`, `keys`) and their `last` rows."""
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
    chats: Mapping[str, Conversation], states: Iterable[CycleState]
) -> Iterator[IntegrityIssue]:
    """What does not fit between a user's chats and cycles."""
    states = list(states)
    places = {state.id: state.chat for state in states}
    for chat in chats.values():
        if chat.tip is not None and places.get(chat.tip) != chat.id:
            yield IntegrityIssue("tip_missing", {"chat": chat.id, "cycle": chat.tip})
    for id in dict.fromkeys(state.chat for state in states):
        if id not in chats:
            yield IntegrityIssue("chat_missing", {"chat": id})
    for id in wrongly_numbered(states):
        yield IntegrityIssue("cycle_number", {"cycle": id})


def wrongly_numbered(states: Iterable[CycleState]) -> list[str]:
    """Closed cycles without a number of their own, and open ones with one."""
    states = list(states)
    times = Counter(state.number for state in states)
    return [
        state.id
        for state in states
        if state.open != (state.number is None) or (state.number is not None and times[state.number] > 1)
    ]


def last_closed(states: Iterable[CycleState], chat: str) -> str | None:
    """The cycle of a chat that was closed last."""
    closed = [(state.number or 0, state.id) for state in states if state.chat == chat and not state.open]
    return max(closed)[1] if closed else None


async def _chats(storage: Storage, user: str) -> AsyncIterator[Conversation]:
    after = None
    while chats := await storage.chats.conversations(user, after=after, limit=_PAGE):
        for chat in chats:
            yield chat
        after = chats[-1].id
