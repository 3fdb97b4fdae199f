"""The port of chats: owner, title, and tip of the live branch."""

from abc import ABC, abstractmethod
from datetime import datetime

from thoughtcycle.memory.model import Conversation


class Chats(ABC):
    """A chat belongs to the user who claimed it first."""

    @abstractmethod
    async def claim(
        self, chat: str, user: str, at: datetime, *, created: datetime | None = None
    ) -> Conversation:
        """The conversation of this chat, created for `user` when it is new. May be another user's.

        `at` is the time of the message; `created` (None: `at`) is when an imported chat began. Raises
        NotAllowed('user_forgotten') when the chat is new and the user was forgotten at `at` or later.
        """

    @abstractmethod
    async def owner(self, chat: str) -> str | None:
        """The user who owns this chat; None while nobody has claimed it."""

    @abstractmethod
    async def conversation(self, user: str, chat: str) -> Conversation | None:
        """A chat of the user; None where they have no such chat."""

    @abstractmethod
    async def conversations(self, user: str, *, after: str | None, limit: int) -> list[Conversation]:
        """The user's chats with ids above `after`, by id."""

    @abstractmethod
    async def rename(self, user: str, chat: str, title: str | None) -> bool:
        """Gives a chat a title; False when the user has no such chat."""

    @abstractmethod
    async def adopt(self, chat: Conversation) -> None:
        """Upserts a chat of the user: tip, title and time of last use."""
