"""The part of the port that forgets a user as a whole, and refuses who writes for a time that is over."""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from thoughtcycle.memory.words import digest
from thoughtcycle.prompts.errors import NotAllowed


def hashed(user: str) -> str:
    """What is left of a user who was forgotten: SHA-256 of the id; only who guesses the id recognises it."""
    return digest(f"forgotten\x1f{user}")


class Pulse(NamedTuple):
    """What tells in one look whether anything of a user's was taken away."""

    last: tuple[tuple[int, datetime, str], ...]
    """The journal's last row, if it has any: number, time, memory."""
    forgotten: datetime | None


class Glimpse(NamedTuple):
    """What tells without waiting whether anything of a user's was said, changed or taken away."""

    pulse: Pulse
    cycles: int
    """The last number of a closed cycle."""
    settings: str | None
    """Another text once the settings sheet was written; None where there is none."""


MOST = 50_000
"""Users whose epochs a process knows, some 200 bytes each; whose last write is the oldest goes."""


class Epochs:
    """What a process knows of users' epochs: how often each was forgotten when it began to write for them."""

    def __init__(self, most: int = MOST) -> None:
        """A write that came so late that `most` others have written since is taken for a new one."""
        self._known: OrderedDict[str, int] = OrderedDict()
        self._most = most

    def begin(self, user: str, epoch: int) -> None:
        """Something new begins: it belongs to the present epoch."""
        self._known[user] = epoch
        self._known.move_to_end(user)
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def check(self, user: str, epoch: int) -> None:
        """Raises NotAllowed('user_forgotten'), once, when the user was forgotten since this process began."""
        known = self._known.get(user, epoch)
        self.begin(user, epoch)
        if known != epoch:
            raise NotAllowed("user_forgotten")


class Forgetting(ABC):
    """Removes a user. Numbers of the journal and of cycles go on behind the last ones, so that no index of
    another process takes new changes for those that it knows; feeds tell such an index to begin anew.
    """

    @abstractmethod
    async def epoch(self, user: str) -> int:
        """How often the user was forgotten."""

    @abstractmethod
    async def pulse(self, user: str) -> Pulse:
        """The last change of the user's memories, and after that when the user was last forgotten."""

    @abstractmethod
    def glimpse(self, user: str) -> Glimpse | None:
        """How things are at this moment; None: only a read can tell."""

    @abstractmethod
    async def forgotten(self, user: str) -> datetime | None:
        """When the user was last forgotten: what was said until then and comes later is dropped."""

    @abstractmethod
    async def forget(self, user: str, at: datetime) -> Mapping[str, int]:
        """Deletes everything of the user and begins a new epoch; how many rows of each table there were.

        What another process is writing for the former epoch is refused, or taken back. Running it again
        completes what was cut off.
        """

    @abstractmethod
    async def traces(self, user: str, ids: Collection[str]) -> Mapping[str, int]:
        """Rows of each table, checkpoints too, that name the user or one of these ids; {} when none."""
