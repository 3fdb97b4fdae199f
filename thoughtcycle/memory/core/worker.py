"""The worker: claims jobs that are due and runs them, a few at a time, until it is stopped."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from thoughtcycle.errors import StorageFailed, ThoughtcycleError
from thoughtcycle.memory.core.job_queue import JobQueue
from thoughtcycle.memory.model import EVERYBODY, Job, backoff, new_job

log = logging.getLogger(__name__)

IDLE_SECONDS = 5.0
"""How long an idle worker waits before it looks again for jobs of other processes."""
STOP_SECONDS = 4.0
"""How long a worker that stops waits for what it interrupted, in all."""


@dataclass(frozen=True)
class Kind:
    """How a worker runs jobs of one kind."""

    run: Callable[[Job], Awaitable[object]]
    """Does the work; idempotent: it may run again for the same job, after a crash for instance."""
    every: timedelta | None = None
    """The worker itself puts one such job for the whole database, and repeats it this often."""
    again: timedelta | None = None
    """A job that fails is no dead letter after its tries: it begins anew, this much later."""


OnOutcome = Callable[[Job, str], None]
"""Called after each job with its outcome: `done`, `stopped`, `lost`, or the code of its failure."""


class Worker:
    """Runs jobs of the kinds it knows; jobs of other kinds are left to other workers."""

    def __init__(
        self,
        queue: JobQueue,
        kinds: Mapping[str, Kind],
        *,
        slots: int = 2,
        idle_seconds: float = IDLE_SECONDS,
        on_outcome: OnOutcome | None = None,
        look: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """At most `slots` jobs run at once.

        `look` is called before jobs are claimed: it puts those that follow from what is stored.
        """
        self._queue, self._kinds, self._slots = queue, kinds, slots
        self._idle, self._renew = idle_seconds, queue.lease.total_seconds() / 3
        self._look = look
        self._on_outcome = on_outcome or (
            lambda job, outcome: log.info("job %s %s: %s", job.kind, job.id, outcome)
        )
        self._running: set[asyncio.Task[None]] = set()

    async def drain(self) -> None:
        """Does what is due now and what becomes due meanwhile. Raises StorageFailed."""
        try:
            await self._arm()
            busy = True
            while await self._fill() or busy or self._running:
                busy = bool(self._running)  # what ends while `_fill` looks may have left something to do
                if busy:
                    await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self._stop()

    async def run(self, *, after: float = 0.0) -> None:
        """Works from in `after` seconds until cancelled; then what is under way is soon given back.

        A database that cannot be reached is asked again, less and less often.
        """
        failures, armed = 0, False
        await asyncio.sleep(after)
        try:
            while True:
                self._queue.news.clear()
                try:
                    if not armed:
                        await self._arm()
                        armed = True
                    await self._fill()
                    failures = 0
                except StorageFailed as failure:
                    failures += 1
                    log.warning("no jobs can be claimed: %s", failure.code)
                _raise_cancelled()
                await self._pause(self._idle if not failures else backoff(failures).total_seconds())
        finally:
            await self._stop()

    async def _arm(self) -> None:
        for name, kind in self._kinds.items():
            if kind.every is not None:
                await self._queue.put(new_job(name, user=EVERYBODY, due=self._queue.clock()))
        self._queue.news.clear()

    async def _fill(self) -> bool:
        """Takes jobs until all slots are busy or nothing is due; whether any was taken."""
        taken = False
        if self._look is not None and len(self._running) < self._slots:
            await self._look()
            _raise_cancelled()
        while len(self._running) < self._slots:
            job = await self._claim()
            if job is None:
                break
            task = asyncio.create_task(self._do(job, self._kinds[job.kind]))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            taken = True
        return taken

    async def _claim(self) -> Job | None:
        """Claims a job; one that is claimed while the worker is cancelled is released."""
        claim = asyncio.ensure_future(self._queue.claim(self._kinds))
        claim.add_done_callback(_retrieve_exception)
        try:
            return await asyncio.shield(claim)
        except asyncio.CancelledError:
            await asyncio.wait({claim}, timeout=STOP_SECONDS / 4)
            if claim.done() and claim.exception() is None and (job := claim.result()) is not None:
                await self._release(job)
            raise

    async def _pause(self, seconds: float) -> None:
        """Waits until there may be something to do: news, a freed slot, or the end of `seconds`."""
        news = asyncio.create_task(self._queue.news.wait())
        try:
            waiting = {news, *self._running} if len(self._running) < self._slots else set(self._running)
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()

    async def _do(self, job: Job, kind: Kind) -> None:
        work = asyncio.ensure_future(kind.run(job))
        try:
            held = await self._hold(job, work)
            if held is None:
                self._on_outcome(job, "lost")
            else:
                await self._finish(held, kind, work)
        except StorageFailed as failure:  # its lease will run out
            self._on_outcome(job, failure.code)
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=STOP_SECONDS / 2)

    async def _hold(self, job: Job, work: "asyncio.Future[object]") -> Job | None:
        """Renews the lease until the work ends; None when the job went to another worker meanwhile."""
        held: Job | None = job
        try:
            while held is not None:
                await asyncio.wait({work}, timeout=self._renew)
                if work.done():
                    break
                try:
                    held = await self._queue.extend(held)
                    _raise_cancelled()
                except StorageFailed as failure:  # the next renewal may still be in time
                    log.warning("job %s %s keeps its old lease: %s", job.kind, job.id, failure.code)
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work}, timeout=STOP_SECONDS / 4)
            if held is not None:
                await self._release(held)
            raise
        return held

    async def _release(self, job: Job) -> None:
        """Releases a job within a second; otherwise its lease will run out."""
        release = asyncio.ensure_future(self._queue.release(job))
        release.add_done_callback(_retrieve_exception)
        await asyncio.wait({release}, timeout=STOP_SECONDS / 4)
        if release.done() and release.exception() is None:
            self._on_outcome(job, "stopped")

    async def _finish(self, job: Job, kind: Kind, work: "asyncio.Future[object]") -> None:
        """Finishes the job or notes its failure, by its code alone: an error's text may hold contents."""
        error = work.exception() if not work.cancelled() else asyncio.CancelledError()
        if error is None:
            await self._queue.finish(job, kind.every)
            self._on_outcome(job, "done")
            return
        code = error.code if isinstance(error, ThoughtcycleError) else type(error).__name__
        after = await self._queue.fail(job, code, kind.every or kind.again)
        log.warning("job %s %s failed: %s", job.kind, job.id, code)
        self._on_outcome(job if after is None else after, code)

    async def _stop(self) -> None:
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=STOP_SECONDS)


def _raise_cancelled() -> None:
    """Raises CancelledError where a driver swallowed it, as PyMongo does now and then."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _retrieve_exception(done: "asyncio.Future[Any]") -> None:
    """Retrieves the exception of a future that nobody may await."""
    if not done.cancelled():
        done.exception()
