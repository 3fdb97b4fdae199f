"""Background jobs and their transitions: claimed, failed, finished (pure)."""

from datetime import datetime, timedelta
from typing import Any, Literal, Self

from pydantic import Field

from thoughtcycle.memory.model.base import Frozen
from thoughtcycle.memory.model.ids import named_id

JobState = Literal["waiting", "running", "dead"]

EVERYBODY = ""
"""The user of jobs that look after the whole database."""
LEASE = timedelta(seconds=60)
"""How long a worker holds a job; then it may be claimed again, unless the lease was renewed."""
ATTEMPTS = 6
"""Tries before a job is a dead letter."""
FIRST_DELAY = timedelta(seconds=2)
LONGEST_DELAY = timedelta(minutes=10)
LOST = "worker_lost"
"""Error of a job whose workers died."""


class Job(Frozen):
    """A unit of background work."""

    id: str
    """Follows from the work: an equal job is queued once."""
    user: str
    kind: str
    """Selects the handler."""
    payload: dict[str, Any] = Field(default_factory=dict)
    """Small plain JSON: ids, never contents."""
    due: datetime
    attempts: int = 0
    """Claims so far."""
    state: JobState = "waiting"
    lease: datetime | None = None
    """While running: when the worker's lock expires."""
    error: str | None = None
    """Code of the last failure; never a content."""
    revision: int = 0
    """Number of changes: the optimistic lock against two workers with the same job."""

    @property
    def free(self) -> datetime | None:
        """From when on it may be claimed; None for a dead letter."""
        return {"waiting": self.due, "running": self.lease, "dead": None}[self.state]

    def claimed(self, now: datetime, lease: timedelta) -> Self:
        """The job with a lease; a dead letter when all its tries ended with the death of a worker."""
        if self.attempts >= ATTEMPTS:
            return self._changed(state="dead", lease=None, error=self.error or LOST)
        return self._changed(state="running", lease=now + lease, attempts=self.attempts + 1)

    def extended(self, now: datetime, lease: timedelta) -> Self:
        """The job with a new lease."""
        return self._changed(lease=now + lease)

    def released(self, now: datetime) -> Self:
        """The job given back untried: its worker stops."""
        return self._changed(state="waiting", lease=None, due=now, attempts=max(self.attempts - 1, 0))

    def finished(self, now: datetime, every: timedelta | None) -> Self | None:
        """The job after its work: its next time when it is periodic, else None."""
        return None if every is None else self._anew(now + every, None)

    def failed(self, code: str, now: datetime, every: timedelta | None) -> Self:
        """The job after a failed try: later again, and after the last try a dead letter.

        A periodic job never dies; it waits for its next time.
        """
        if self.attempts < ATTEMPTS:
            return self._changed(state="waiting", lease=None, due=now + backoff(self.attempts), error=code)
        if every is not None:
            return self._anew(now + every, code)
        return self._changed(state="dead", lease=None, error=code)

    def retried(self, now: datetime) -> Self:
        """A dead letter, due now as if it were new; its last error stays readable."""
        return self._anew(now, self.error)

    def _anew(self, due: datetime, error: str | None) -> Self:
        return self._changed(state="waiting", lease=None, due=due, attempts=0, error=error)

    def _changed(self, **fields: Any) -> Self:
        return self.model_copy(update={**fields, "revision": self.revision + 1})


def new_job(kind: str, *names: str, user: str, due: datetime, **payload: Any) -> Job:
    """The job of this kind, user and `names`; asking again gives the same one."""
    return Job(id=named_id("job", kind, user, *names), user=user, kind=kind, payload=payload, due=due)


def backoff(attempts: int) -> timedelta:
    """The pause after so many failed tries: 2 s, 4 s, 8 s … at most 10 minutes."""
    return min(FIRST_DELAY * (1 << min(max(attempts - 1, 0), 20)), LONGEST_DELAY)
