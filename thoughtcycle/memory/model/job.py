"""Background jobs: what one is, and what claiming, failing and finishing make of it (pure)."""

from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field

from thoughtcycle.memory.model.ids import named_id
from thoughtcycle.memory.model.records import Frozen

JobState = Literal["waiting", "running", "dead"]

EVERYBODY = ""
"""The user of jobs that look after the whole database."""
LEASE = timedelta(seconds=60)
"""How long a job is its worker's alone; after that it may be claimed again, unless the lease was renewed."""
ATTEMPTS = 6
"""Tries before a job is a dead letter."""
FIRST_DELAY = timedelta(seconds=2)
LONGEST_DELAY = timedelta(minutes=10)
LOST = "worker_lost"
"""Error of a job whose workers died over it."""


class Job(Frozen):
    """A piece of work that nobody waits for."""

    id: str
    """Names the work: what has the same id is put once."""
    user: str
    kind: str
    """By which a worker finds what to do."""
    payload: dict[str, Any] = Field(default_factory=dict)
    """Small plain JSON: ids, never contents."""
    due: datetime
    attempts: int = 0
    """Claims so far."""
    state: JobState = "waiting"
    lease: datetime | None = None
    """While running: until when it is its worker's alone."""
    error: str | None = None
    """Code of the last failure; never a content."""
    revision: int = 0
    """Number of changes; guards against two workers with the same job."""

    @property
    def free(self) -> datetime | None:
        """From when on it may be claimed; None for a dead letter."""
        return {"waiting": self.due, "running": self.lease, "dead": None}[self.state]


def new_job(kind: str, *names: str, user: str, due: datetime, **payload: Any) -> Job:
    """The job of this kind, user and `names`; asking again gives the same one."""
    return Job(id=named_id("job", kind, user, *names), user=user, kind=kind, payload=payload, due=due)


def delay(attempts: int) -> timedelta:
    """How long to wait after so many failed tries: 2 s, 4 s, 8 s … at most 10 minutes."""
    return min(FIRST_DELAY * (1 << min(max(attempts - 1, 0), 20)), LONGEST_DELAY)


def claimed(job: Job, now: datetime, lease: timedelta) -> Job:
    """`job` with a lease; dead when its workers died over it as often as it may be tried."""
    if job.attempts >= ATTEMPTS:
        return _changed(job, state="dead", lease=None, error=job.error or LOST)
    return _changed(job, state="running", lease=now + lease, attempts=job.attempts + 1)


def extended(job: Job, now: datetime, lease: timedelta) -> Job:
    """`job` with a new lease."""
    return _changed(job, lease=now + lease)


def released(job: Job, now: datetime) -> Job:
    """`job` given back untried: its worker stops."""
    return _changed(job, state="waiting", lease=None, due=now, attempts=max(job.attempts - 1, 0))


def finished(job: Job, now: datetime, every: timedelta | None) -> Job | None:
    """What is left of a job that is done: nothing, or its next time when it is periodic."""
    return None if every is None else _again(job, now + every, None)


def failed(job: Job, code: str, now: datetime, every: timedelta | None) -> Job:
    """`job` after a failed try: later again, and after the last try a dead letter.

    A periodic job never dies; it waits for its next time.
    """
    if job.attempts < ATTEMPTS:
        return _changed(job, state="waiting", lease=None, due=now + delay(job.attempts), error=code)
    if every is not None:
        return _again(job, now + every, code)
    return _changed(job, state="dead", lease=None, error=code)


def retried(job: Job, now: datetime) -> Job:
    """A dead letter, due now as if it were new; its last error stays readable."""
    return _again(job, now, job.error)


def _again(job: Job, due: datetime, error: str | None) -> Job:
    return _changed(job, state="waiting", lease=None, due=due, attempts=0, error=error)


def _changed(job: Job, **fields: Any) -> Job:
    return job.model_copy(update={**fields, "revision": job.revision + 1})
