"""Epochs of users: each time a user is forgotten one ends, and who still writes for it is refused."""

from collections import OrderedDict
from datetime import datetime
from typing import NamedTuple

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.text import digest

MOST = 50_000
"""Users whose epochs a process knows, some 200 bytes each; whose last write is the oldest goes."""


def hashed(user: str) -> str:
    """What is left of a user who was forgotten: SHA-256 of the id; only who guesses the id recognises it."""
    return digest(f"forgotten\x1f{user}")


class Forgotten(NamedTuple):
    """What is left of a user who was forgotten."""

    epoch: int = 0
    """How often that was."""
    journal: int = 0
    """The number of the journal up to which all is forgotten."""
    cycles: int = 0
    """The number of closed cycles up to which all is forgotten."""
    at: datetime | None = None


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
