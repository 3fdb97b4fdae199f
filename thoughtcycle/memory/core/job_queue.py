"""The queue of background jobs: put, claim with a lease, extend, finish, fail, retry."""

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from thoughtcycle.memory.model import LEASE, Job, JobState
from thoughtcycle.memory.storage import Jobs

STATES: tuple[JobState, ...] = ("waiting", "running", "dead")
_LOOK_AT = 8
"""Free jobs tried per claim: other workers may take them at the same moment."""
SOON_SECONDS = 0.5
"""Delay of new work: on the same event loop it would delay the end of the turn that it comes from."""


class JobQueue:
    """Jobs of a database. All methods raise StorageFailed when the database refuses."""

    def __init__(self, jobs: Jobs, clock: Callable[[], datetime], *, lease: timedelta = LEASE) -> None:
        """`lease`: how long a claim holds before it has to be extended."""
        self._jobs, self.clock, self.lease = jobs, clock, lease
        self.news = asyncio.Event()
        """Set when this process puts or retries a job, so that its own worker need not wait."""

    def wake_soon(self) -> None:
        """Wakes the worker of this process when the turn that made work is likely over."""
        asyncio.get_running_loop().call_later(SOON_SECONDS, self.news.set)

    async def put(self, job: Job) -> bool:
        """Adds a job; False, without a change, when one of its id waits, runs or is dead."""
        if added := await self._jobs.put(job):
            self.news.set()
        return added

    async def get(self, user: str, id: str) -> Job | None:
        """The user's job of this id, whatever its state; None when there is none."""
        return await self._jobs.get(user, id)

    async def claim(self, kinds: Collection[str]) -> Job | None:
        """A free job of one of these kinds, with a lease for the caller alone; None when there is none.

        A job is claimed at least once: after a lease has run out, its work may be done again by another.
        """
        while free := await self._jobs.free(self.clock(), kinds, limit=_LOOK_AT):
            for job in free:
                mine = job.claimed(self.clock(), self.lease)
                if await self._jobs.change(job, mine) and mine.state == "running":
                    return mine
        return None

    async def extend(self, job: Job) -> Job | None:
        """The job with a new lease; None when it is no longer the caller's."""
        return await self._changed(job, job.extended(self.clock(), self.lease))

    async def release(self, job: Job) -> bool:
        """Gives a claimed job back, due at once; False when it was no longer the caller's."""
        return await self._jobs.change(job, job.released(self.clock()))

    async def finish(self, job: Job, every: timedelta | None = None) -> bool:
        """Removes a job that is done, or sets its next time; False when it was no longer the caller's."""
        return await self._jobs.change(job, job.finished(self.clock(), every))

    async def fail(self, job: Job, code: str, every: timedelta | None = None) -> Job | None:
        """The job as it is after a failed try: later, or dead; None when it was no longer the caller's."""
        return await self._changed(job, job.failed(code, self.clock(), every))

    async def listing(self, users: Collection[str], states: Collection[JobState] = STATES) -> list[Job]:
        """Jobs of these users in these states, the earliest due first."""
        return await self._jobs.listing(users, states)

    async def retry(self, job: Job) -> Job | None:
        """Makes a dead letter due now; None when it is no longer dead."""
        if job.state != "dead":
            return None
        again = await self._changed(job, job.retried(self.clock()))
        self.news.set()
        return again

    async def _changed(self, before: Job, after: Job) -> Job | None:
        return after if await self._jobs.change(before, after) else None
