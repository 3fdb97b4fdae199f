"""The rules of background jobs: leases, back-off, dead letters."""

from datetime import timedelta

import pytest

from support.memories import START
from thoughtcycle.memory.model import job as jobs
from thoughtcycle.memory.model.job import Job, new_job

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def job(**fields: object) -> Job:
    return new_job("sum", "a", user="ana", due=START).model_copy(update=fields)


def test_equal_work_has_equal_ids() -> None:
    assert (
        new_job("sum", "a", user="ana", due=START).id == new_job("sum", "a", user="ana", due=START + HOUR).id
    )
    others = [("sum", "b", "ana"), ("sum", "a", "bia"), ("mul", "a", "ana")]
    assert job().id not in {new_job(kind, name, user=user, due=START).id for kind, name, user in others}


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(1, 2), (2, 4), (3, 8), (5, 32), (9, 512), (10, 600), (1_000, 600)]
)
def test_each_failure_waits_twice_as_long_up_to_a_limit(attempts: int, seconds: int) -> None:
    assert jobs.backoff(attempts) == timedelta(seconds=seconds)


def test_a_claim_is_a_lease_and_counts_as_a_try() -> None:
    claimed = job().claimed(START, MINUTE)
    assert (claimed.state, claimed.attempts, claimed.free) == ("running", 1, START + MINUTE)
    assert claimed.revision == 1
    later = claimed.extended(START + HOUR, MINUTE)
    assert (later.attempts, later.free) == (1, START + HOUR + MINUTE)


def test_workers_that_die_over_a_job_make_it_a_dead_letter() -> None:
    poison = job(attempts=jobs.ATTEMPTS, state="running", lease=START)
    dead = poison.claimed(START, MINUTE)
    assert (dead.state, dead.free, dead.error) == ("dead", None, "worker_lost")


@pytest.mark.parametrize(
    ("attempts", "every", "state", "due", "left"),
    [
        (1, None, "waiting", timedelta(seconds=2), 1),
        (jobs.ATTEMPTS - 1, None, "waiting", timedelta(seconds=32), jobs.ATTEMPTS - 1),
        (jobs.ATTEMPTS, None, "dead", timedelta(0), jobs.ATTEMPTS),
        (1, HOUR, "waiting", timedelta(seconds=2), 1),
        (jobs.ATTEMPTS, HOUR, "waiting", HOUR, 0),
    ],
)
def test_a_failure_is_tried_again_later_until_it_is_enough(
    attempts: int, every: timedelta | None, state: str, due: timedelta, left: int
) -> None:
    after = job(attempts=attempts, state="running").failed("boom", START, every)
    assert (after.state, after.due, after.attempts, after.error) == (state, START + due, left, "boom")


def test_what_is_done_is_gone_unless_it_is_periodic() -> None:
    assert job().finished(START, None) is None
    again = job(attempts=3, error="boom").finished(START, HOUR)
    assert again is not None
    assert (again.state, again.due, again.attempts, again.error) == ("waiting", START + HOUR, 0, None)


def test_stopping_gives_back_the_try_and_a_retry_starts_anew() -> None:
    back = job(attempts=2, state="running", lease=START).released(START)
    assert (back.state, back.attempts, back.free) == ("waiting", 1, START)
    again = job(attempts=6, state="dead", error="boom").retried(START + HOUR)
    assert (again.state, again.attempts, again.free, again.error) == ("waiting", 0, START + HOUR, "boom")
