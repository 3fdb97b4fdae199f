"""How often somebody may ask: token buckets, and what a user's turns may cost in a day."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address

from thoughtcycle.memory.records import utc_now
from thoughtcycle.prompts.errors import TooMuch

MOST = 20_000
"""Callers remembered; beyond it the one who asked longest ago is forgotten, and starts with a full bucket."""


@dataclass(frozen=True)
class Bucket:
    """What somebody may still ask at a moment (token bucket: RFC 2698 speaks of the same of packets)."""

    left: float
    at: float


def refilled(bucket: Bucket, now: float, rate: float, burst: float) -> Bucket:
    """The bucket at `now`: `rate` requests per second came in, never more than `burst`."""
    return Bucket(min(burst, bucket.left + max(0.0, now - bucket.at) * rate), now)


def seconds_until_one(bucket: Bucket, rate: float) -> int:
    """Whole seconds until there is a request in the bucket; 0 when there is one."""
    return math.ceil(max(0.0, 1.0 - bucket.left) / rate)


@dataclass
class Buckets:
    """A bucket for each of many callers, in bounded memory."""

    per_minute: int
    burst: int
    clock: Callable[[], float] = time.monotonic
    _kept: OrderedDict[str, Bucket] = field(default_factory=OrderedDict)

    def check(self, caller: str) -> None:
        """TooMuch('too_often') when the caller has nothing left; takes nothing."""
        if wait := seconds_until_one(self._now(caller), self.per_minute / 60):
            raise TooMuch("too_often", seconds=wait)

    def take(self, caller: str) -> None:
        """Takes one request; TooMuch('too_often') when there is none."""
        self.check(caller)
        bucket = self._now(caller)
        self._kept[caller] = Bucket(bucket.left - 1, bucket.at)
        self._kept.move_to_end(caller)
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)

    def _now(self, caller: str) -> Bucket:
        now = self.clock()
        kept = self._kept.get(caller, Bucket(self.burst, now))
        return refilled(kept, now, self.per_minute / 60, self.burst)


@dataclass
class Budget:
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


def place_of(peer: str | None) -> str:
    """What is counted of an address: of IPv6 the network, of which one household has a whole one."""
    try:
        address = ip_address(peer or "")
    except ValueError:
        return peer or ""
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
