"""The part of the port that looks at everything of one user: paging through it, chats, and what is left."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from thoughtcycle.memory.records import Conversation, Cycle, JournalEntry, MemoryRecord, Status


class WholeUser(ABC):
    """Reads a user's data page by page, so that no caller has to hold all of it."""

    @abstractmethod
    async def conversations(self, user: str, *, after: str | None, limit: int) -> list[Conversation]:
        """The user's chats with ids above `after`, by id."""

    @abstractmethod
    async def conversation(self, user: str, chat: str) -> Conversation | None:
        """One chat of the user's; None where they have no such chat."""

    @abstractmethod
    async def cycles(self, user: str, ids: Sequence[str]) -> list[Cycle]:
        """Cycles with these ids, open ones too, in this order; unknown ids are left out."""

    @abstractmethod
    async def page(
        self, space: str, *, after: int, limit: int, status: Status | None = None
    ) -> list[MemoryRecord]:
        """Documents of this status (None: of every one) whose revision is above `after`, by revision.

        One that changes between two pages comes again, as it is then.
        """

    @abstractmethod
    async def changes(self, space: str, *, after: int, limit: int) -> list[JournalEntry]:
        """The journal behind row `after`, oldest first."""

    @abstractmethod
    async def rename(self, user: str, chat: str, title: str | None) -> bool:
        """Gives a chat a title; False when the user has no such chat."""

    @abstractmethod
    async def strangers(
        self, user: str, *, chats: Sequence[str], cycles: Sequence[str], memories: Sequence[str]
    ) -> bool:
        """Whether any of these ids is another user's."""

    @abstractmethod
    async def adopt(self, chat: Conversation) -> None:
        """Gives a chat of the same user this end, title and time of last use; one that is new is created."""
