"""The port of users as a whole: list, count, forget."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple


class Pulse(NamedTuple):
    """The user's last change and last forgetting: shows in one read whether anything was taken away."""

    last: tuple[tuple[int, datetime, str], ...]
    """The journal's last row, if there is one: number, time, memory."""
    forgotten: datetime | None


class Glimpse(NamedTuple):
    """A user's latest numbers: show without waiting whether anything was said, changed or taken away."""

    pulse: Pulse
    cycles: int
    """The last number of a closed cycle."""
    settings: int | None
    """The revision of the settings; None where there are none."""


@dataclass(frozen=True)
class Census:
    """Counts of a user's data."""

    memories: Mapping[tuple[str, str | None], int]
    """(status, kind) → count."""
    chats: int
    cycles: int
    changes: int
    """Rows of the journal."""
    sheets: Mapping[str, int]
    """Kind of document → count, without dropped ones."""
    pending: int
    """Cycles whose formation is pending."""
    bytes: int
    """Of the user's own documents and vectors, without the database's overhead."""
    database_bytes: int | None
    """Of the whole database on disk; None where the server does not report it."""

    @property
    def by_status(self) -> list[dict[str, Any]]:
        """The counts of memories as rows of status, kind and count, in the order of their names."""
        groups = sorted(self.memories.items(), key=str)
        return [{"status": status, "kind": kind, "count": count} for (status, kind), count in groups]


class Users(ABC):
    """The users of the database.

    When a user is forgotten, numbers of the journal and of cycles go on behind the last ones, so that no
    index of another process takes new changes for old ones; feeds tell it to begin anew.
    """

    @abstractmethod
    async def listing(self) -> list[str]:
        """All users who have any data, sorted."""

    @abstractmethod
    async def census(self, user: str) -> Census:
        """Counts the user's data."""

    @abstractmethod
    async def epoch(self, user: str) -> int:
        """How often the user was forgotten."""

    @abstractmethod
    async def pulse(self, user: str) -> Pulse:
        """The last change of the user's memories, and after that when the user was last forgotten."""

    @abstractmethod
    async def forgotten(self, user: str) -> datetime | None:
        """When the user was last forgotten: messages from before then that arrive later are dropped."""

    @abstractmethod
    async def strangers(
        self, user: str, *, chats: Sequence[str], cycles: Sequence[str], memories: Sequence[str]
    ) -> bool:
        """Whether any of these ids belongs to another user."""

    @abstractmethod
    async def forget(self, user: str, at: datetime) -> Mapping[str, int]:
        """Deletes all data of the user and begins a new epoch; table → number of deleted rows.

        Concurrent writes of the former epoch are refused or reverted. Idempotent: running it again completes
        an interrupted run.
        """

    @abstractmethod
    async def traces(self, user: str, ids: Collection[str]) -> Mapping[str, int]:
        """Table → number of rows that name the user or one of these ids, checkpoints too; {} when none."""
