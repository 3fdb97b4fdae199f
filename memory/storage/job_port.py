"""The part of the port that keeps background jobs."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from datetime import datetime

from thoughtcycle.memory.jobs import Job, JobState


class JobStorage(ABC):
    """Keeps jobs; which of several workers gets one is decided by its revision."""

    @abstractmethod
    async def put_job(self, job: Job) -> bool:
        """Stores a new job; False, and nothing changed, when its id is known."""

    @abstractmethod
    async def job(self, user: str, id: str) -> Job | None:
        """The user's job of this id, whatever its state."""

    @abstractmethod
    async def free_jobs(self, now: datetime, kinds: Collection[str], *, limit: int) -> list[Job]:
        """Jobs of any user and of these kinds that may be claimed `now`, the longest free first."""

    @abstractmethod
    async def change_job(self, before: Job, after: Job | None) -> bool:
        """Replaces a job, or removes it, in one step; False when it is no longer at `before`'s revision."""

    @abstractmethod
    async def jobs(
        self, users: Collection[str], states: Collection[JobState], *, limit: int | None = None
    ) -> list[Job]:
        """Jobs of these users in these states, the earliest due first."""
