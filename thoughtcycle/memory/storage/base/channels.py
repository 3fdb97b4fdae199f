"""The port of links between senders on messaging channels and users, and of the codes that prove them."""

from abc import ABC, abstractmethod
from datetime import datetime

from thoughtcycle.memory.model import ChannelLink


class Channels(ABC):
    """Keeps links of channel identities; a sender on a channel is at most one user (LM-13)."""

    @abstractmethod
    async def put_code(self, user: str, digest: str, *, now: datetime, until: datetime) -> None:
        """Stores the digest of a code that identifies the user until then, in place of an earlier one.

        Raises NotAllowed('user_forgotten') in an epoch that has ended.
        """

    @abstractmethod
    async def take_code(self, digest: str, now: datetime) -> str | None:
        """Deletes the code and returns its user; None when it is unknown or has expired."""

    @abstractmethod
    async def count_try(self, identity: str, now: datetime, until: datetime) -> tuple[int, datetime]:
        """Counts a try of this identity; the number of tries and the time at which they expire.

        The first try's `until` is the time at which all of them expire.
        """

    @abstractmethod
    async def clear_tries(self, identity: str) -> None:
        """Forgets the tries of this identity."""

    @abstractmethod
    async def put_link(self, link: ChannelLink) -> None:
        """Links the sender to the user, in place of any other user. Raises as `put_code`."""

    @abstractmethod
    async def link(self, channel: str, sender: str) -> ChannelLink | None:
        """The link of the sender, if there is one."""

    @abstractmethod
    async def links(self, user: str) -> list[ChannelLink]:
        """The user's links, by channel and sender."""

    @abstractmethod
    async def drop_link(self, user: str, channel: str, sender: str) -> bool:
        """Removes a link; False when the user has no such link."""
