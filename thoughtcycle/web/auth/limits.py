"""Limits: requests per caller by token buckets, model tokens per user and day."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address

from thoughtcycle.errors import TooMuch
from thoughtcycle.memory.model import utc_now

MAX_CALLERS = 20_000
"""Callers with a bucket; the least recent one beyond it is dropped, and starts with a full one."""


@dataclass(frozen=True)
class TokenBucket:
    """The requests that a caller has left at a moment (token bucket, as RFC 2698 for packets)."""

    left: float
    at: float


def refilled(bucket: TokenBucket, now: float, rate: float, burst: float) -> TokenBucket:
    """The bucket at `now`: `rate` requests per second came in, never more than `burst`."""
    return TokenBucket(min(burst, bucket.left + max(0.0, now - bucket.at) * rate), now)


def seconds_until_one(bucket: TokenBucket, rate: float) -> int:
    """Whole seconds until there is a request in the bucket; 0 when there is one."""
    return math.ceil(max(0.0, 1.0 - bucket.left) / rate)


@dataclass
class RateLimiter:
    """Limits requests per caller with token buckets, in bounded memory."""

    per_minute: int
    burst: int
    clock: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, TokenBucket] = field(default_factory=OrderedDict)

    def check(self, caller: str) -> None:
        """TooMuch('too_often') when the caller has nothing left; takes nothing."""
        if wait := seconds_until_one(self._refilled(caller), self.per_minute / 60):
            raise TooMuch("too_often", seconds=wait)

    def take(self, caller: str) -> None:
        """Takes one request; TooMuch('too_often') when there is none."""
        self.check(caller)
        bucket = self._refilled(caller)
        self._buckets[caller] = TokenBucket(bucket.left - 1, bucket.at)
        self._buckets.move_to_end(caller)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)

    def _refilled(self, caller: str) -> TokenBucket:
        now = self.clock()
        kept = self._buckets.get(caller, TokenBucket(self.burst, now))
        return refilled(kept, now, self.per_minute / 60, self.burst)


@dataclass
class TokenBudget:
    """Model tokens that each user's turns may take in a day (UTC), as counted by this process."""

    per_day: int | None
    clock: Callable[[], datetime] = utc_now
    _day: str = ""
    _spent: dict[str, int] = field(default_factory=dict)

    def check(self, user: str) -> None:
        """TooMuch('tokens_spent') when the user has used up the day's tokens; a turn that began may end."""
        if self.per_day is not None and self._today().get(user, 0) >= self.per_day:
            now = self.clock().astimezone(UTC)
            passed = now.hour * 3600 + now.minute * 60 + now.second
            raise TooMuch("tokens_spent", seconds=86_400 - passed, limit=self.per_day)

    def spend(self, user: str, tokens: int) -> None:
        """Adds what a turn has taken."""
        if self.per_day is not None and tokens:
            today = self._today()
            today[user] = today.get(user, 0) + tokens

    def _today(self) -> dict[str, int]:
        day = self.clock().astimezone(UTC).date().isoformat()
        if day != self._day:
            self._day, self._spent = day, {}
        return self._spent


def address_key(peer: str | None) -> str:
    """The key of an address for counting: of IPv6 the /64 network, since a household has all of one."""
    try:
        address = ip_address(peer or "")
    except ValueError:
        return peer or ""
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
