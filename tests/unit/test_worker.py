"""The worker: leases hold, failures come back later, a stop is quick and leaves the rest to others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from support.leaping import PATIENCE, Leap
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.core import worker as worker_module
from thoughtcycle.memory.core.job_queue import JobQueue
from thoughtcycle.memory.core.worker import Kind, Worker
from thoughtcycle.memory.model import job as jobs
from thoughtcycle.memory.model import utc_now
from thoughtcycle.memory.model.job import EVERYBODY, LEASE, Job, new_job
from thoughtcycle.memory.storage import Storage, open_storage


@pytest.fixture
async def storage(database_url: str) -> AsyncIterator[Storage]:
    async with open_storage(database_url) as opened:
        yield opened


def queue_of(storage: Storage, clock: Callable[[], datetime] = utc_now) -> JobQueue:
    return JobQueue(storage.jobs, clock)


def job(name: str = "a", kind: str = "sum", due: datetime | None = None) -> Job:
    return new_job(kind, name, user="ana", due=due or utc_now(), name=name)


class Log:
    """Hears what a worker tells."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def __call__(self, job: Job, outcome: str) -> None:
        self.lines.append((job.payload.get("name", job.kind), outcome))


async def nothing(job: Job) -> None:
    pass


async def test_what_is_due_is_done_and_gone(storage: Storage) -> None:
    queue, log, seen = queue_of(storage), Log(), []

    async def run(job: Job) -> None:
        seen.append(job.payload["name"])
        if job.payload["name"] == "a":
            await queue.put(new_job("sum", "c", user="ana", due=utc_now(), name="c"))

    assert [await queue.put(job(name)) for name in "aba"] == [True, True, False]
    await queue.put(job("other", kind="unknown"))
    await Worker(queue, {"sum": Kind(run)}, on_outcome=log).drain()
    assert sorted(seen) == ["a", "b", "c"]
    assert sorted(log.lines) == [("a", "done"), ("b", "done"), ("c", "done")]
    assert [left.kind for left in await queue.listing(["ana"])] == ["unknown"]


async def test_what_follows_from_the_stored_state_is_put_before_each_look(storage: Storage) -> None:
    queue, done, left = queue_of(storage), [], ["a", "b"]

    async def run(job: Job) -> None:
        done.append(job.payload["name"])
        left.remove(job.payload["name"])

    async def look() -> None:
        for name in left[:1]:
            await queue.put(job(name))

    await Worker(queue, {"sum": Kind(run)}, look=look).drain()
    assert done == ["a", "b"]


async def test_what_waits_already_is_no_news(storage: Storage) -> None:
    queue = queue_of(storage)
    await queue.put(job())
    queue.news.clear()
    assert await queue.put(job()) is False and not queue.news.is_set()


async def test_no_more_than_its_slots_run_at_once(storage: Storage) -> None:
    queue, now, most, full = queue_of(storage), 0, 0, asyncio.Event()

    async def run(job: Job) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        if now == 3:
            full.set()
        await full.wait()
        now -= 1

    for number in range(6):
        await queue.put(job(str(number)))
    await Worker(queue, {"sum": Kind(run)}, slots=3).drain()
    assert most == 3


async def test_a_failure_waits_and_after_the_last_try_it_is_a_dead_letter(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, log = queue_of(storage), Log()

    async def run(job: Job) -> None:
        if job.payload["name"] == "known":
            raise InputRefused("memory_empty")
        raise ValueError("the secret words of somebody")

    await queue.put(job("known"))
    await queue.put(job("bug"))
    worker = Worker(queue, {"sum": Kind(run)}, on_outcome=log)
    await worker.drain()
    waiting = await queue.listing(["ana"], ["waiting"])
    assert {(one.payload["name"], one.error) for one in waiting} == {
        ("known", "memory_empty"),
        ("bug", "ValueError"),
    }
    assert all(one.due > utc_now() for one in waiting)
    monkeypatch.setattr(jobs, "FIRST_DELAY", timedelta(0))
    for one in waiting:
        assert await storage.jobs.change(one, one.model_copy(update={"due": utc_now(), "revision": 9}))
    await worker.drain()
    dead = await queue.listing(["ana"], ["dead"])
    assert {one.error for one in dead} == {"memory_empty", "ValueError"}
    assert len(log.lines) == 2 * jobs.ATTEMPTS
    assert "secret" not in str(dead)
    assert await queue.listing(["bia"]) == []
    retried = await queue.retry(dead[0])
    assert retried is not None and (retried.state, retried.attempts) == ("waiting", 0)
    assert await queue.retry(dead[0]) is None


async def test_a_lease_is_renewed_and_one_that_ran_out_is_claimed_again(storage: Storage, leap: Leap) -> None:
    queue = queue_of(storage, leap.at)
    await queue.put(job(due=leap.at()))
    started, end = asyncio.Event(), asyncio.Event()

    async def run(job: Job) -> None:
        started.set()
        await end.wait()

    async def lease() -> datetime | None:
        (held,) = await queue.listing(["ana"])
        return held.lease

    worker = asyncio.create_task(Worker(queue, {"sum": Kind(run)}).drain())
    await started.wait()
    for _ in range(3):
        before = await lease()
        leap(LEASE.total_seconds() / 2)
        while await lease() == before:
            await asyncio.sleep(0)
    assert await queue.claim(["sum"]) is None
    end.set()
    await worker
    assert await queue.listing(["ana"]) == []
    await queue.put(job(due=leap.at()))
    first = await queue.claim(["sum"])
    leap(LEASE.total_seconds())
    second = await queue.claim(["sum"])
    assert first is not None and second is not None
    assert (first.id, second.attempts) == (second.id, 2)
    assert await queue.extend(first) is None
    assert not await queue.finish(first)
    assert await queue.finish(second)


async def test_who_lost_its_job_stops_working_on_it(storage: Storage, leap: Leap) -> None:
    queue, log = queue_of(storage, leap.at), Log()
    await queue.put(job(due=leap.at()))
    interrupted = asyncio.Event()

    async def run(job: Job) -> None:
        (stored,) = await queue.listing(["ana"])
        await storage.jobs.change(stored, stored.claimed(leap.at(), timedelta(hours=1)))
        leap(LEASE.total_seconds() / 2)
        try:
            await asyncio.Event().wait()
        finally:
            interrupted.set()

    await asyncio.wait_for(Worker(queue, {"sum": Kind(run)}, on_outcome=log).drain(), 2 * PATIENCE)
    assert interrupted.is_set()
    assert log.lines == [("a", "lost")]


async def test_a_stop_gives_back_what_is_under_way(
    storage: Storage, leap: Leap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "STOP_SECONDS", 4 * PATIENCE)
    queue, log, started = queue_of(storage), Log(), asyncio.Event()

    async def stubborn(job: Job) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            leap(PATIENCE)
            await asyncio.Event().wait()

    await queue.put(job("stubborn"))
    task = asyncio.create_task(Worker(queue, {"sum": Kind(stubborn)}, on_outcome=log).run())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 4 * PATIENCE)
    (left,) = await queue.listing(["ana"])
    assert (left.state, left.attempts, log.lines) == ("waiting", 0, [("stubborn", "stopped")])
    assert await queue.claim(["sum"]) is not None


@pytest.mark.parametrize("once", [True, False])
async def test_a_stop_that_a_driver_keeps_to_itself_is_heeded(tmp_path: Path, once: bool) -> None:
    looking = asyncio.Event()

    async def look() -> None:
        looking.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    async with open_storage(f"sqlite:///{tmp_path}/m.db") as storage:
        worker = Worker(queue_of(storage), {"sum": Kind(nothing)}, look=look)
        task = asyncio.create_task(worker.drain() if once else worker.run())
        await looking.wait()
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=PATIENCE)
        assert done and task.cancelled()


async def test_a_new_job_wakes_an_idle_worker(storage: Storage) -> None:
    queue, done = queue_of(storage), asyncio.Event()

    async def run(job: Job) -> None:
        done.set()

    task = asyncio.create_task(Worker(queue, {"sum": Kind(run)}, idle_seconds=3_600).run())
    await asyncio.sleep(0.05)
    await queue.put(job())
    await asyncio.wait_for(done.wait(), PATIENCE)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_what_a_turn_leaves_to_do_waits_until_the_turn_is_over(
    storage: Storage, leap: Leap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thoughtcycle.memory.core.job_queue.SOON_SECONDS", PATIENCE)
    queue = queue_of(storage)
    queue.wake_soon()
    await asyncio.sleep(0)
    assert not queue.news.is_set()
    leap(PATIENCE)
    await asyncio.wait_for(queue.news.wait(), PATIENCE)


async def test_a_periodic_job_is_put_once_and_repeated(storage: Storage) -> None:
    queue = queue_of(storage)
    worker = Worker(queue, {"sweep": Kind(nothing, every=timedelta(hours=1)), "sum": Kind(nothing)})
    for _ in range(2):
        await worker.drain()
    (periodic,) = await queue.listing([EVERYBODY])
    assert (periodic.kind, periodic.attempts) == ("sweep", 0)
    assert timedelta(minutes=59) < periodic.due - utc_now() <= timedelta(hours=1)


async def test_several_workers_never_get_the_same_job(database_url: str, tmp_path: Path) -> None:
    counts: dict[str, int] = {}

    async def run(job: Job) -> None:
        counts[job.id] = counts.get(job.id, 0) + 1
        await asyncio.sleep(0)

    async def work(number: int) -> None:
        async with open_storage(database_url) as storage:
            await Worker(queue_of(storage), {"sum": Kind(run)}, slots=3).drain()

    async with open_storage(database_url) as storage:
        for number in range(20):
            await storage.jobs.put(job(str(number)))
    await asyncio.gather(*(work(number) for number in range(4)))
    assert sorted(counts.values()) == [1] * 20
