"""The port of who a sender on a messaging channel is, and the codes that prove it."""

from abc import ABC, abstractmethod
from datetime import datetime

from thoughtcycle.memory.model import ChannelLink


class Channels(ABC):
    """Keeps links of channel identities; a sender on a channel is at most one user (LM-13)."""

    @abstractmethod
    async def put_code(self, user: str, digest: str, *, now: datetime, until: datetime) -> None:
        """Keeps the digest of a code that stands for the user until then; an earlier one of theirs goes.

        Raises NotAllowed('user_forgotten') as all that belongs to a time before that.
        """

    @abstractmethod
    async def take_code(self, digest: str, now: datetime) -> str | None:
        """The user for whom the code stands; it is gone afterwards. None where there is none that holds."""

    @abstractmethod
    async def count_try(self, identity: str, now: datetime, until: datetime) -> tuple[int, datetime]:
        """Adds a try of this identity; how many there were by now, and until when they count.

        They count until what `until` was at the first of them, and are forgotten then.
        """

    @abstractmethod
    async def clear_tries(self, identity: str) -> None:
        """Forgets the tries of this identity."""

    @abstractmethod
    async def put_link(self, link: ChannelLink) -> None:
        """Makes the sender that user's, whoever's they were before. Raises as `put_code`."""

    @abstractmethod
    async def link(self, channel: str, sender: str) -> ChannelLink | None:
        """Whose the sender is."""

    @abstractmethod
    async def links(self, user: str) -> list[ChannelLink]:
        """The user's links, by channel and sender."""

    @abstractmethod
    async def drop_link(self, user: str, channel: str, sender: str) -> bool:
        """Removes a link; False when the user has no such."""
