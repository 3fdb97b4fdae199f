"""How often somebody may ask: the rule of the bucket, bounded memory, and the tokens of a day."""

from datetime import UTC, datetime, timedelta

import pytest

from thoughtcycle.errors import TooMuch
from thoughtcycle.web.auth import limits
from thoughtcycle.web.auth.limits import (
    RateLimiter,
    TokenBucket,
    TokenBudget,
    address_key,
    refilled,
    seconds_until_one,
)


@pytest.mark.parametrize(
    ("left", "passed", "expected"),
    [(0.0, 0.0, 0.0), (0.0, 1.0, 2.0), (3.0, 0.5, 4.0), (4.5, 9.0, 5.0), (2.0, -5.0, 2.0)],
)
def test_a_bucket_fills_up_to_its_burst(left: float, passed: float, expected: float) -> None:
    assert refilled(TokenBucket(left, 100.0), 100.0 + passed, rate=2.0, burst=5.0).left == expected


@pytest.mark.parametrize(
    ("left", "rate", "expected"), [(1.0, 1.0, 0), (5.0, 1.0, 0), (0.0, 0.5, 2), (0.9, 1.0, 1)]
)
def test_the_wait_is_whole_seconds(left: float, rate: float, expected: int) -> None:
    assert seconds_until_one(TokenBucket(left, 0.0), rate) == expected


def test_each_caller_has_a_bucket() -> None:
    now = [0.0]
    buckets = RateLimiter(per_minute=60, burst=3, clock=lambda: now[0])
    for _ in range(3):
        buckets.take("ana")
    with pytest.raises(TooMuch) as refused:
        buckets.take("ana")
    assert refused.value.values == {"seconds": 1}
    buckets.take("bob")
    now[0] += 1
    buckets.take("ana")
    with pytest.raises(TooMuch):
        buckets.check("ana")


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CALLERS", 10)
    buckets = RateLimiter(per_minute=1, burst=1, clock=lambda: 0.0)
    for number in range(1000):
        buckets.take(str(number))
    assert len(buckets._buckets) == 10
    with pytest.raises(TooMuch):
        buckets.take("999")


def test_the_tokens_of_a_day() -> None:
    now = [datetime(2026, 11, 22, 23, 59, tzinfo=UTC)]
    budget = TokenBudget(100, clock=lambda: now[0])
    budget.spend("ana", 99)
    budget.check("ana")
    budget.spend("ana", 50)
    with pytest.raises(TooMuch) as refused:
        budget.check("ana")
    assert refused.value.values == {"seconds": 60, "limit": 100}
    budget.check("bob")
    now[0] += timedelta(minutes=1)
    budget.check("ana")


def test_without_a_limit_nothing_is_counted() -> None:
    budget = TokenBudget(None)
    budget.spend("ana", 10**9)
    budget.check("ana")
    assert not budget._spent


@pytest.mark.parametrize(
    ("peer", "place"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("testclient", "testclient"),
        (None, ""),
    ],
)
def test_the_place_of_an_address(peer: str | None, place: str) -> None:
    assert address_key(peer) == place
