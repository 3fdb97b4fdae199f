"""A user's chats: list, show, find by name, rename, delete with the memories learned in them."""

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from thoughtcycle.errors import ChatUnknown, InputRefused
from thoughtcycle.memory.conversation import Conversations, conversation_of
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.erasure import DocumentErasure, Erasure, rolled_back, taught, without_chat
from thoughtcycle.memory.model import (
    STATUSES,
    Conversation,
    ConversationMemory,
    Cycle,
    CycleMessage,
    Frozen,
    JournalEntry,
    MemoryRecord,
    storable,
)
from thoughtcycle.memory.redaction import Mask, Verbatim, verbatim
from thoughtcycle.memory.rules.window import WINDOW_CYCLES
from thoughtcycle.memory.rules.word_budget import with_word_counts
from thoughtcycle.memory.storage import DocumentName, Write
from thoughtcycle.memory.text.secrets import masked
from thoughtcycle.memory.transcript import Transcript
from thoughtcycle.memory.versioning.branches import live_path

_PAGE = 500
LONGEST_TITLE = 200


class Chat(Frozen):
    """A chat in a list."""

    id: str
    title: str | None
    created: datetime
    used: datetime
    """When something was last said in it."""
    cycles: int
    """On its live branch."""
    tip: str | None = None
    """The last cycle of that branch."""


class Removed(Frozen):
    """Counts of what was deleted with a chat."""

    cycles: int
    memories: int


@dataclass(frozen=True)
class KeptChat:
    """A chat, its memory and its last exchanges; deleted words are masked."""

    chat: Chat
    memory: ConversationMemory
    """Its counts include cycles that still wait for formation."""
    recent: tuple[Cycle, ...]
    """The recent memory (CM-2), oldest first."""


class Chats:
    """Whole chats."""

    def __init__(
        self,
        core: Core,
        conversations: Conversations,
        transcript: Transcript,
        documents: DocumentErasure,
        erasure: Erasure,
    ) -> None:
        self._core = core
        self._conversations, self._transcript = conversations, transcript
        self._documents, self._erasure = documents, erasure
        self._clock = core.clock
        self._storage = core.storage

    async def chats(self, user: str, *, limit: int | None = None) -> list[Chat]:
        """The user's chats in which something was answered, the last used first; deleted words are masked."""
        found = [chat for chat in await self._all(user) if chat.tip is not None]
        return await self._listed(user, sorted(found, key=lambda chat: chat.updated, reverse=True)[:limit])

    async def _listed(self, user: str, chats: Sequence[Conversation]) -> list[Chat]:
        mask = await self._erasure.mask(user)
        links = await self._storage.transcript.links(user, [chat.id for chat in chats])
        return [
            Chat(
                id=chat.id,
                title=masked(titled(chat, mask).title or "") or None,
                created=chat.created,
                used=chat.updated,
                cycles=len(live_path(links, chat.tip)),
                tip=chat.tip,
            )
            for chat in chats
        ]

    async def kept_chats(self, user: str, *, limit: int | None = None) -> list[KeptChat]:
        """The user's chats, the last used first; a memory that cannot be read counts as none (logged)."""
        chats = await self.chats(user, limit=limit)
        names: list[DocumentName] = [("conversation", chat.id) for chat in chats]
        stored = await self._storage.documents.find(owned(user), names)
        memories = {one.chat_id: one for one in await self._conversations.readable(user, stored)}
        empty = {chat.id: conversation_of(None, user, chat.id, chat.created) for chat in chats}
        recent = await self._recent(user, chats)
        return [_kept(chat, memories.get(chat.id, empty[chat.id]), recent[chat.id]) for chat in chats]

    async def kept_chat(self, user: str, chat: str) -> KeptChat:
        """One chat. Raises ChatUnknown, DocumentBroken where its memory cannot be read."""
        found = await self._storage.chats.conversation(owned(user), chat)
        if found is None or found.tip is None:
            raise ChatUnknown(chat)
        (listed,) = await self._listed(user, [found])
        memory = await self._conversations.conversation_memory(user, chat)
        return _kept(listed, memory, (await self._recent(user, [listed]))[chat])

    async def _recent(self, user: str, chats: Sequence[Chat]) -> dict[str, list[Cycle]]:
        """The last exchanges of each chat, oldest first."""
        found: dict[str, list[Cycle]] = {chat.id: [] for chat in chats}
        ends = {chat.id: chat.tip for chat in chats}
        for _ in range(WINDOW_CYCLES):
            cycles = await self._transcript.cycles(user, [*filter(None, ends.values())])
            by_id = {cycle.id: cycle for cycle in cycles}
            last = {chat: by_id[end] for chat, end in ends.items() if end in by_id}
            last = {chat: cycle for chat, cycle in last.items() if cycle.chat == chat}  # not where it began
            for chat, cycle in last.items():
                found[chat].insert(0, cycle)
            ends = {chat: cycle.parent for chat, cycle in last.items()}
        return found

    async def chat(self, user: str, chat: str) -> Conversation | None:
        """One of the user's chats in which something was answered, deleted words masked; None without it."""
        found = await self._storage.chats.conversation(owned(user), chat)
        return None if found is None or found.tip is None else titled(found, await self._erasure.mask(user))

    async def find_chat(self, user: str, name: str, *, whole: bool = False) -> str | None:
        """The id of the user's chat with this id, this title, or this beginning of an id; None without one.

        With `whole` the beginning of an id is not enough. Titles are compared as `chats` shows them: deleted
        words find nothing. Raises InputRefused('chat_ambiguous') where a title or a beginning fits several.
        """
        mask = await self._erasure.mask(user)
        chats = [titled(chat, mask) for chat in await self._all(user) if chat.tip is not None]
        return found_chat(chats, name, whole=whole)

    async def rename_chat(self, user: str, chat: str, title: str | None) -> None:
        """Gives a chat a title; None or an empty one takes it away. Raises ChatUnknown."""
        wanted = storable((title or "").strip()[:LONGEST_TITLE]) or None
        if not await self._storage.chats.rename(owned(user), chat, wanted):
            raise ChatUnknown(chat)

    async def name_chat(self, user: str, chat: str, title: str) -> bool:
        """Gives a chat that has no title one; False while there is no such chat."""
        known = await self.chat(user, chat)
        if known is not None and known.title is None:
            await self.rename_chat(user, chat, title)
        return known is not None

    async def delete_chat(self, user: str, chat: str) -> Removed:
        """Erases for good the words of a chat and the memories that come from nowhere else (see `erase`).

        A memory that another chat supports too – said again, changed there, a former version from there –
        stays in the version that it had before this chat changed it. The cycles stay, emptied, so that other
        processes drop their caches and an import does not bring them back. Checkpoints are deleted by
        `runtime.forgetting.delete_chat`. Idempotent: running it again completes an interrupted run. Raises
        ChatUnknown.
        """
        await self._check_own(user, chat)
        cycles = await self._storage.transcript.links(user, [chat])
        learned = await self._storage.memories.of_cycles(user, list(cycles))
        gone = [one.id for one in learned if one.current is None and not await self._supported(one, cycles)]
        if gone:
            await self._erasure.give_up(user, gone, alone=True)
            await self._erasure.complete(user)
        changed = await self._roll_back(user, cycles)
        async for cycle in self._cycles(user, list(cycles)):
            if emptied_cycle(cycle) != cycle:
                await self._storage.transcript.amend_cycle(user, cycle.id, emptied_cycle)
        await self._documents.drop_chat_sheets(user, chat, cycles)
        if (known := await self._storage.chats.conversation(user, chat)) is not None:
            await self._storage.chats.adopt(known.model_copy(update={"tip": None, "title": None}))
        await self._storage.erasure.scrub()
        return Removed(cycles=len(cycles), memories=len(gone) + changed)

    async def _roll_back(self, user: str, cycles: Collection[str]) -> int:
        """Takes back what these cycles changed in memories that stay; returns how many have other content."""

        async def plan() -> tuple[Sequence[Write], None]:
            every = await self._storage.memories.listing(owned(user), STATUSES, limit=None, offset=0)
            heads = {one.id for one in taught(every, cycles) if one.current is None}
            family = [one for one in every if one.id in heads or one.current in heads]
            keys = await self._core.search_vectors(family, {})
            return rolled_back(family, cycles, keys, self._clock()), None

        stored, _ = await self._core.change(owned(user), plan)
        every = await self._storage.memories.listing(owned(user), STATUSES, limit=None, offset=0)
        before: int | None = None
        while rows := await self._storage.memories.journal(owned(user), before=before, limit=_PAGE):
            if kept := without_chat(rows, every, cycles):
                await self._storage.erasure.rewrite_journal(owned(user), kept)
            before = rows[-1].number
        if versions := [one.id for one in taught(every, cycles) if one.current is not None]:
            await self._erasure.give_up(user, versions, alone=True)
            await self._erasure.complete(user)
        return sum(one.current is None and one.source.cycle not in cycles for one in stored.values())

    async def said_in(self, user: str, chat: str) -> Verbatim:
        """A redactor of all words of a chat, for states that it shares with others. Raises ChatUnknown."""
        await self._check_own(user, chat)
        links = await self._storage.transcript.links(user, [chat])
        return verbatim([cycle async for cycle in self._cycles(user, list(links))])

    async def _check_own(self, user: str, chat: str) -> None:
        if await self._storage.chats.owner(chat) != owned(user):
            raise ChatUnknown(chat)

    async def _cycles(self, user: str, ids: Sequence[str]) -> AsyncIterator[Cycle]:
        for start in range(0, len(ids), _PAGE):
            for cycle in await self._storage.transcript.cycles(user, ids[start : start + _PAGE]):
                yield cycle

    async def _supported(self, record: MemoryRecord, cycles: Collection[str]) -> bool:
        rows = await self._storage.memories.journal(record.space, memories=[record.id])
        others = sources(rows, await self._storage.memories.versions(record.space, [record.id])) - set(cycles)
        empty = [is_empty(cycle) async for cycle in self._cycles(record.space, sorted(others))]
        return len(others) > sum(empty)

    async def _all(self, user: str) -> list[Conversation]:
        found: list[Conversation] = []
        after = None
        while page := await self._storage.chats.conversations(owned(user), after=after, limit=_PAGE):
            found += page
            after = page[-1].id
        return found


def _kept(chat: Chat, memory: ConversationMemory, recent: Sequence[Cycle]) -> KeptChat:
    """Counts words and exchanges as of now; a chat without a stored memory has its own times."""
    times = {} if memory.revision else {"created_at": chat.created, "updated_at": chat.used}
    now = with_word_counts(memory, recent).model_copy(update={"total_cycles": chat.cycles, **times})
    return KeptChat(chat, now, tuple(recent))


def sources(rows: Iterable[JournalEntry], versions: Iterable[MemoryRecord]) -> set[str]:
    """The cycles in which a memory was said, said again or changed; not hidden, nor changed but undone."""
    rows = list(rows)
    undone = {row.undoes for row in rows}
    silent = ("hide", "abandon", "restore", "undo")
    cycles = {row.cycle for row in rows if row.op not in silent and row.number not in undone}
    cycles |= {version.source.cycle for version in versions}
    return {cycle for cycle in cycles if cycle is not None}


def found_chat(chats: Sequence[Conversation], name: str, *, whole: bool = False) -> str | None:
    """See Chats.find_chat."""
    wanted = name.strip()
    if not wanted or any(chat.id == wanted for chat in chats):
        return wanted or None
    folded = wanted.casefold()
    for fits in (
        [chat.id for chat in chats if chat.title is not None and chat.title.casefold() == folded],
        [chat.id for chat in chats if chat.id.startswith(wanted) and not whole],
    ):
        if len(fits) > 1:
            raise InputRefused("chat_ambiguous", name=repr(name), count=len(fits))
        if fits:
            return fits[0]
    return None


def titled(chat: Conversation, mask: Mask) -> Conversation:
    """`chat` with hidden words masked in its title."""
    return chat.model_copy(update={"title": mask.text(chat.title)}) if chat.title else chat


def is_empty(cycle: Cycle) -> bool:
    """Whether a cycle has no words, never said or erased."""
    texts = [cycle.message, *(text for variant in cycle.variants for text in variant.messages)]
    texts += [text for _, _, text in cycle.progress if text is not None]
    return not cycle.progress and not any(text.text for text in texts)


def emptied_cycle(cycle: Cycle) -> Cycle:
    """`cycle` without any word; place, times and state stay."""
    said = CycleMessage(id=cycle.message.id, role=cycle.message.role, text="", at=cycle.message.at)
    variants = tuple(one.model_copy(update={"messages": (), "steps": ()}) for one in cycle.variants[-1:])
    nothing = {"progress": (), "formation": "none", "judgement": None, "marks": ()}
    return cycle.model_copy(update={"message": said, "variants": variants, **nothing})
