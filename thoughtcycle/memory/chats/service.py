"""A user's chats: listed, found by name, renamed, deleted with what was learned in them."""

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from datetime import datetime

from thoughtcycle.errors import ChatUnknown, InputRefused
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.erasure import DocumentErasure, Erasure, rolled_back, taught, without_chat
from thoughtcycle.memory.model import (
    STATUSES,
    Conversation,
    Cycle,
    CycleMessage,
    Frozen,
    JournalEntry,
    MemoryRecord,
)
from thoughtcycle.memory.redaction import Mask, Verbatim, verbatim
from thoughtcycle.memory.storage.base import Write
from thoughtcycle.memory.text import readable
from thoughtcycle.memory.versioning import live_path

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
    """What went with a chat."""

    cycles: int
    memories: int


class Chats:
    """Whole chats."""

    def __init__(self, core: Core, documents: DocumentErasure, erasure: Erasure) -> None:
        self._core = core
        self._documents, self._erasure = documents, erasure
        self._clock = core.clock
        self._storage = core.storage

    async def chats(self, user: str, *, limit: int | None = None) -> list[Chat]:
        """The user's chats in which something was answered, the last used first; deleted words are masked."""
        found = [chat for chat in await self._conversations(user) if chat.tip is not None]
        return await self.listed(user, sorted(found, key=lambda chat: chat.updated, reverse=True)[:limit])

    async def listed(self, user: str, chats: Sequence[Conversation]) -> list[Chat]:
        """Chats as a list has them."""
        mask = await self._erasure.mask(user)
        links = await self._storage.transcript.links(user, [chat.id for chat in chats])
        return [
            Chat(
                id=chat.id,
                title=titled(chat, mask).title,
                created=chat.created,
                used=chat.updated,
                cycles=len(live_path(links, chat.tip)),
                tip=chat.tip,
            )
            for chat in chats
        ]

    async def chat(self, user: str, chat: str) -> Conversation | None:
        """One of the user's chats in which something was answered, deleted words masked; None without it."""
        found = await self._storage.chats.conversation(owned(user), chat)
        return None if found is None or found.tip is None else titled(found, await self._erasure.mask(user))

    async def find_chat(self, user: str, name: str, *, whole: bool = False) -> str | None:
        """The id of the user's chat with this id, this title, or this beginning of an id; None without one.

        With `whole` the beginning of an id is not enough. A title is what `chats` shows of it: deleted words
        find nothing. Raises InputRefused('chat_ambiguous') where a title or a beginning fits several.
        """
        mask = await self._erasure.mask(user)
        chats = [titled(chat, mask) for chat in await self._conversations(user) if chat.tip is not None]
        return found_chat(chats, name, whole=whole)

    async def rename_chat(self, user: str, chat: str, title: str | None) -> None:
        """Gives a chat a title; None or an empty one takes it away. Raises ChatUnknown."""
        wanted = readable((title or "").strip()[:LONGEST_TITLE]) or None
        if not await self._storage.chats.rename(owned(user), chat, wanted):
            raise ChatUnknown(chat)

    async def name_chat(self, user: str, chat: str, title: str) -> bool:
        """Gives a chat that has no title one; False while there is no such chat."""
        known = await self.chat(user, chat)
        if known is not None and known.title is None:
            await self.rename_chat(user, chat, title)
        return known is not None

    async def delete_chat(self, user: str, chat: str) -> Removed:
        """Erases for good what was said in a chat and the memories that come from nowhere else (see `erase`).

        A memory that another chat supports too – said again, changed there, a former version from there –
        stays, without what was said in this one: it says again what it said before. Of the cycles only empty
        ones stay, so that other processes drop what they know of them and an import does not bring them back.
        Checkpoints are not the memory's (graph.forgetting deletes them too). Running it again completes what
        was cut off. Raises ChatUnknown.
        """
        await self._check_own(user, chat)
        cycles = await self._storage.transcript.links(user, [chat])
        learned = await self._storage.memories.of_cycles(user, list(cycles))
        gone = [one.id for one in learned if one.current is None and not await self._supported(one, cycles)]
        if gone:
            await self._erasure.erase(user, gone)
        changed = await self._roll_back(user, cycles)
        async for cycle in self._of(user, list(cycles)):
            if emptied_cycle(cycle) != cycle:
                await self._storage.transcript.amend_cycle(user, cycle.id, emptied_cycle)
        await self._documents.drop_chat_sheets(user, chat, cycles)
        if (known := await self._storage.chats.conversation(user, chat)) is not None:
            await self._storage.chats.adopt(known.model_copy(update={"tip": None, "title": None}))
        await self._storage.erasure.scrub()
        return Removed(cycles=len(cycles), memories=len(gone) + changed)

    async def _roll_back(self, user: str, cycles: Collection[str]) -> int:
        """Erases what these cycles told of memories that stay; how many say something else now."""

        async def plan() -> tuple[Sequence[Write], None]:
            every = await self._storage.memories.listing(owned(user), STATUSES, limit=None, offset=0)
            heads = {one.id for one in taught(every, cycles) if one.current is None}
            family = [one for one in every if one.id in heads or one.current in heads]
            keys = await self._core.keys(family, {})
            return rolled_back(family, cycles, keys, self._clock()), None

        stored, _ = await self._core.change(owned(user), plan)
        every = await self._storage.memories.listing(owned(user), STATUSES, limit=None, offset=0)
        if versions := [one.id for one in taught(every, cycles) if one.current is not None]:
            await self._erasure.erase(user, versions)
        before: int | None = None
        while rows := await self._storage.memories.journal(owned(user), before=before, limit=_PAGE):
            if kept := without_chat(rows, every, cycles):
                await self._storage.erasure.rewrite_journal(owned(user), kept)
            before = rows[-1].number
        return sum(one.current is None and one.source.cycle not in cycles for one in stored.values())

    async def said_in(self, user: str, chat: str) -> Verbatim:
        """What takes all that was said in a chat out of the states that others share with it.

        Raises ChatUnknown.
        """
        await self._check_own(user, chat)
        return verbatim(
            [one async for one in self._of(user, list(await self._storage.transcript.links(user, [chat])))]
        )

    async def _check_own(self, user: str, chat: str) -> None:
        if await self._storage.chats.owner(chat) != owned(user):
            raise ChatUnknown(chat)

    async def _of(self, user: str, ids: Sequence[str]) -> AsyncIterator[Cycle]:
        for start in range(0, len(ids), _PAGE):
            for cycle in await self._storage.transcript.cycles(user, ids[start : start + _PAGE]):
                yield cycle

    async def _supported(self, record: MemoryRecord, cycles: Collection[str]) -> bool:
        rows = await self._storage.memories.journal(record.space, memories=[record.id])
        others = sources(rows, await self._storage.memories.versions(record.space, [record.id])) - set(cycles)
        known = [one async for one in self._of(record.space, sorted(others))]
        return len(others) > sum(is_empty(one) for one in known)

    async def _conversations(self, user: str) -> list[Conversation]:
        found: list[Conversation] = []
        while page := await self._storage.chats.conversations(
            owned(user), after=found[-1].id if found else None, limit=_PAGE
        ):
            found += page
        return found


def sources(rows: Iterable[JournalEntry], versions: Iterable[MemoryRecord]) -> set[str]:
    """The cycles in which a memory was said, said again or changed; not hidden, nor changed but undone."""
    known = list(rows)
    undone = {row.undoes for row in known}
    silent = ("hide", "abandon", "restore", "undo")
    told = {row.cycle for row in known if row.op not in silent and row.number not in undone}
    told |= {version.source.cycle for version in versions}
    return {cycle for cycle in told if cycle is not None}


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
    """`chat` with its title as it may be read."""
    return chat.model_copy(update={"title": mask.text(chat.title)}) if chat.title else chat


def is_empty(cycle: Cycle) -> bool:
    """Whether nothing was said in it, or nothing is left of what was."""
    texts = [cycle.message, *(text for variant in cycle.variants for text in variant.messages)]
    texts += [text for _, _, text in cycle.progress if text is not None]
    return not cycle.progress and not any(text.text for text in texts)


def emptied_cycle(cycle: Cycle) -> Cycle:
    """`cycle` without any word: its place, its times, and that it is closed."""
    said = CycleMessage(id=cycle.message.id, role=cycle.message.role, text="", at=cycle.message.at)
    variants = tuple(
        variant.model_copy(update={"messages": (), "steps": ()}) for variant in cycle.variants[-1:]
    )
    gone = {
        "message": said,
        "variants": variants,
        "progress": (),
        "formation": "none",
        "judgement": None,
        "marks": (),
    }
    return cycle.model_copy(update=gone)
