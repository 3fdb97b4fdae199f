"""Chats with what is kept of each as it is now: what formation has not taken in yet counts already."""

from collections.abc import Sequence
from dataclasses import dataclass

from thoughtcycle.memory.ageing import WINDOW
from thoughtcycle.memory.chats import Chat, Chats
from thoughtcycle.memory.engine import owned
from thoughtcycle.memory.formed import ConversationMemory
from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.sheet_loading import conversation_of
from thoughtcycle.memory.storage.sheet_port import SheetName
from thoughtcycle.memory.transcript import Transcript
from thoughtcycle.memory.volume import counted
from thoughtcycle.prompts.errors import NotAllowed


@dataclass(frozen=True)
class KeptChat:
    """A chat, its memory and its last exchanges; deleted words are masked."""

    chat: Chat
    memory: ConversationMemory
    """Its counts are those of now."""
    recent: tuple[Cycle, ...]
    """The recent memory (CM-2), oldest first."""


class Overview(Chats, Transcript):
    """What is kept of chats, for people to look at; formation reads the sheets themselves."""

    async def kept_chats(self, user: str, *, limit: int | None = None) -> list[KeptChat]:
        """The user's chats, the last used first; a memory that cannot be read counts as none (logged)."""
        chats = await self.chats(user, limit=limit)
        names: list[SheetName] = [("conversation", chat.id) for chat in chats]
        stored = await self._readable(user, await self._storage.sheets(owned(user), names))
        known = {one.chat_id: one for one in stored}
        recent = await self._recent(user, chats)
        return [
            kept(one, known.get(one.id) or conversation_of(None, user, one.id, one.created), recent[one.id])
            for one in chats
        ]

    async def kept_chat(self, user: str, chat: str) -> KeptChat:
        """One chat. Raises NotAllowed('chat_unknown'), SheetBroken where its memory cannot be read."""
        found = await self._storage.conversation(owned(user), chat)
        if found is None or found.tip is None:
            raise NotAllowed("chat_unknown", id=repr(chat))
        (known,) = await self._listed(user, [found])
        memory, recent = await self.conversation_memory(user, chat), await self._recent(user, [known])
        return kept(known, memory, recent[chat])

    async def _recent(self, user: str, chats: Sequence[Chat]) -> dict[str, list[Cycle]]:
        """The last exchanges of each chat, oldest first."""
        found: dict[str, list[Cycle]] = {chat.id: [] for chat in chats}
        ends = {chat.id: chat.tip for chat in chats}
        for _ in range(WINDOW):
            cycles = {cycle.id: cycle for cycle in await self.cycles(user, [*filter(None, ends.values())])}
            own = {chat: cycles[end] for chat, end in ends.items() if end in cycles}
            own = {chat: cycle for chat, cycle in own.items() if cycle.chat == chat}  # not where it began
            for chat, cycle in own.items():
                found[chat].insert(0, cycle)
            ends = {chat: cycle.parent for chat, cycle in own.items()}
        return found


def kept(chat: Chat, memory: ConversationMemory, recent: Sequence[Cycle]) -> KeptChat:
    """Words and exchanges counted as of now; a chat of which nothing was made yet has its own times."""
    times = {} if memory.revision else {"created_at": chat.created, "updated_at": chat.used}
    now = counted(memory, recent).model_copy(update={"total_cycles": chat.cycles, **times})
    return KeptChat(chat, now, tuple(recent))
