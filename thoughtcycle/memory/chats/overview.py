"""Chats with what is kept of each as it is now: what formation has not taken in yet counts already."""

from collections.abc import Sequence
from dataclasses import dataclass

from thoughtcycle.errors import ChatUnknown
from thoughtcycle.memory.chats.service import Chat, Chats
from thoughtcycle.memory.conversation import Conversations, conversation_of
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.model import ConversationMemory, Cycle
from thoughtcycle.memory.rules import WINDOW, counted
from thoughtcycle.memory.storage.base import DocumentName
from thoughtcycle.memory.transcript import Transcript


@dataclass(frozen=True)
class KeptChat:
    """A chat, its memory and its last exchanges; deleted words are masked."""

    chat: Chat
    memory: ConversationMemory
    """Its counts are those of now."""
    recent: tuple[Cycle, ...]
    """The recent memory (CM-2), oldest first."""


class ChatOverview:
    """What is kept of chats, for people to look at; formation reads what is stored."""

    def __init__(
        self, core: Core, conversations: Conversations, chats: Chats, transcript: Transcript
    ) -> None:
        self._core = core
        self._conversations, self._chats, self._transcript = conversations, chats, transcript
        self._storage = core.storage

    async def kept_chats(self, user: str, *, limit: int | None = None) -> list[KeptChat]:
        """The user's chats, the last used first; a memory that cannot be read counts as none (logged)."""
        chats = await self._chats.chats(user, limit=limit)
        names: list[DocumentName] = [("conversation", chat.id) for chat in chats]
        stored = await self._conversations.readable(
            user, await self._storage.documents.find(owned(user), names)
        )
        known = {one.chat_id: one for one in stored}
        recent = await self._recent(user, chats)
        return [
            kept(one, known.get(one.id) or conversation_of(None, user, one.id, one.created), recent[one.id])
            for one in chats
        ]

    async def kept_chat(self, user: str, chat: str) -> KeptChat:
        """One chat. Raises ChatUnknown, DocumentBroken where its memory cannot be read."""
        found = await self._storage.chats.conversation(owned(user), chat)
        if found is None or found.tip is None:
            raise ChatUnknown(chat)
        (known,) = await self._chats.listed(user, [found])
        memory, recent = (
            await self._conversations.conversation_memory(user, chat),
            await self._recent(user, [known]),
        )
        return kept(known, memory, recent[chat])

    async def _recent(self, user: str, chats: Sequence[Chat]) -> dict[str, list[Cycle]]:
        """The last exchanges of each chat, oldest first."""
        found: dict[str, list[Cycle]] = {chat.id: [] for chat in chats}
        ends = {chat.id: chat.tip for chat in chats}
        for _ in range(WINDOW):
            cycles = {
                cycle.id: cycle
                for cycle in await self._transcript.cycles(user, [*filter(None, ends.values())])
            }
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
