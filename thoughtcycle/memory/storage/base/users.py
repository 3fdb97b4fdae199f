"""The port of users as a whole: who there is, how much of them, and how one is forgotten."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple


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
    settings: int | None
    """The revision of the settings; None where there are none."""


@dataclass(frozen=True)
class Census:
    """How much there is of a user."""

    memories: Mapping[tuple[str, str | None], int]
    """(status, kind) → how many."""
    chats: int
    cycles: int
    changes: int
    """Rows of the journal."""
    sheets: Mapping[str, int]
    """Kind → how many; dropped ones do not count."""
    pending: int
    """Cycles whose formation is pending."""
    bytes: int
    """Of the user's own documents and vectors, without what the database adds."""
    database_bytes: int | None
    """Of the whole database on disk; None where the server does not tell."""

    @property
    def by_status(self) -> list[dict[str, Any]]:
        """The memories for machines: status, kind and count of each group, in the order of their names."""
        groups = sorted(self.memories.items(), key=str)
        return [{"status": status, "kind": kind, "count": count} for (status, kind), count in groups]


class Users(ABC):
    """Who is in the database.

    When a user is forgotten, numbers of the journal and of cycles go on behind the last ones, so that no
    index of another process takes new changes for those that it knows; feeds tell it to begin anew.
    """

    @abstractmethod
    async def listing(self) -> list[str]:
        """Everybody of whom there is anything."""

    @abstractmethod
    async def census(self, user: str) -> Census:
        """How much there is of a user."""

    @abstractmethod
    async def epoch(self, user: str) -> int:
        """How often the user was forgotten."""

    @abstractmethod
    async def pulse(self, user: str) -> Pulse:
        """The last change of the user's memories, and after that when the user was last forgotten."""

    @abstractmethod
    async def forgotten(self, user: str) -> datetime | None:
        """When the user was last forgotten: what was said until then and comes later is dropped."""

    @abstractmethod
    async def strangers(
        self, user: str, *, chats: Sequence[str], cycles: Sequence[str], memories: Sequence[str]
    ) -> bool:
        """Whether any of these ids is another user's."""

    @abstractmethod
    async def forget(self, user: str, at: datetime) -> Mapping[str, int]:
        """Deletes everything of the user and begins a new epoch; how many rows of each table there were.

        What another process is writing for the former epoch is refused, or taken back. Running it again
        completes what was cut off.
        """

    @abstractmethod
    async def traces(self, user: str, ids: Collection[str]) -> Mapping[str, int]:
        """Rows of each table, checkpoints too, that name the user or one of these ids; {} when none."""
