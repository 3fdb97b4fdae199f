"""The port of background work: jobs, and cycles whose formation is pending."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from datetime import datetime

from thoughtcycle.memory.model import Cycle, Job, JobState


class Jobs(ABC):
    """Jobs behind an optimistic lock, which decides which of several workers gets one."""

    @abstractmethod
    async def put(self, job: Job) -> bool:
        """Stores a new job; False, and nothing changed, when its id is known."""

    @abstractmethod
    async def get(self, user: str, id: str) -> Job | None:
        """The user's job of this id, whatever its state."""

    @abstractmethod
    async def free(self, now: datetime, kinds: Collection[str], *, limit: int) -> list[Job]:
        """Jobs of any user and of these kinds that may be claimed `now`, the longest free first."""

    @abstractmethod
    async def change(self, before: Job, after: Job | None) -> bool:
        """Replaces a job, or removes it, in one step; False when it is no longer at `before`'s revision."""

    @abstractmethod
    async def listing(
        self, users: Collection[str], states: Collection[JobState], *, limit: int | None = None
    ) -> list[Job]:
        """Jobs of these users in these states, the earliest due first."""

    @abstractmethod
    async def pending_cycles(self, user: str | None, *, limit: int) -> list[Cycle]:
        """Cycles whose formation is pending, the one opened first first; None: of all users (maintenance)."""

    @abstractmethod
    async def pending_users(self, *, limit: int) -> list[str]:
        """Users who have such cycles, the one with the oldest cycle first."""
