"""Epochs of users: forgetting a user ends one, and later writes that belong to it are refused."""

from collections import OrderedDict
from datetime import datetime
from typing import NamedTuple

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.text.analyzer import digest

MOST = 50_000
"""Users whose epochs a process remembers, some 200 bytes each; the one written for longest ago goes."""


def hashed(user: str) -> str:
    """SHA-256 of a forgotten user's id, which stays; recognised only by somebody who guesses the id."""
    return digest(f"forgotten\x1f{user}")


class Forgotten(NamedTuple):
    """The trace of a forgotten user; all zero for one who never was."""

    epoch: int = 0
    """How often the user was forgotten."""
    journal: int = 0
    """The number of the journal up to which all is forgotten."""
    cycles: int = 0
    """The number of closed cycles up to which all is forgotten."""
    at: datetime | None = None

    def epoch_after(self, at: datetime) -> int:
        """The epoch; raises NotAllowed('user_forgotten') when the user was forgotten at `at` or later."""
        if self.at is not None and at <= self.at:
            raise NotAllowed("user_forgotten")
        return self.epoch


class Epochs:
    """The epoch of each user at the time when this process began to write for them."""

    def __init__(self, most: int = MOST) -> None:
        """A write that comes after those of `most` other users is taken for the first of its user."""
        self._epochs: OrderedDict[str, int] = OrderedDict()
        self._most = most

    def begin(self, user: str, epoch: int) -> None:
        """Begins to write for the user in this epoch."""
        self._epochs[user] = epoch
        self._epochs.move_to_end(user)
        if len(self._epochs) > self._most:
            self._epochs.popitem(last=False)

    def check(self, user: str, epoch: int) -> None:
        """Raises NotAllowed('user_forgotten'), once, when the user was forgotten since this process began."""
        begun = self._epochs.get(user, epoch)
        self.begin(user, epoch)
        if begun != epoch:
            raise NotAllowed("user_forgotten")
