"""The port of chats: whose they are, their titles, and the end of their live branch."""

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

        `at` is now, or when what waited was said; `created` (None: `at`) is when a chat that comes from
        elsewhere began. Raises NotAllowed('user_forgotten') when it is new and `at` is not after the moment
        at which the user was forgotten.
        """

    @abstractmethod
    async def owner(self, chat: str) -> str | None:
        """Whose this chat is; None while nobody has claimed it."""

    @abstractmethod
    async def conversation(self, user: str, chat: str) -> Conversation | None:
        """One chat of the user's; None where they have no such chat."""

    @abstractmethod
    async def conversations(self, user: str, *, after: str | None, limit: int) -> list[Conversation]:
        """The user's chats with ids above `after`, by id."""

    @abstractmethod
    async def rename(self, user: str, chat: str, title: str | None) -> bool:
        """Gives a chat a title; False when the user has no such chat."""

    @abstractmethod
    async def adopt(self, chat: Conversation) -> None:
        """Gives a chat of the same user this end, title and time of last use; one that is new is created."""
