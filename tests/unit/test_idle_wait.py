"""What waits behind replies: not while the process is idle, and never for longer than its patience."""

import asyncio

import pytest

from thoughtcycle.runtime import idle_wait as module


class Machine:
    """A clock and a processor that work for this process a share of the time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, shares: list[float]) -> None:
        self.now = self.used = 0.0
        self.looks = 0
        self._shares = shares
        monkeypatch.setattr(module, "monotonic", lambda: self.now)
        monkeypatch.setattr(module, "process_time", lambda: self.used)
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        share = self._shares[min(self.looks, len(self._shares) - 1)]
        self.looks += 1
        self.now += seconds
        self.used += share * seconds


@pytest.mark.parametrize(
    ("shares", "looks"),
    [
        ([0.0], 1),
        ([0.2], 1),
        ([1.0, 1.0, 0.1], 3),
        ([1.0], round(module.PATIENCE_SECONDS / module.LOOK_SECONDS)),
    ],
    ids=["idle", "hardly busy", "busy for a while", "busy for ever"],
)
async def test_work_behind_replies_waits_for_an_idle_moment(
    monkeypatch: pytest.MonkeyPatch, shares: list[float], looks: int
) -> None:
    machine = Machine(monkeypatch, shares)
    await module.wait_until_idle()
    assert machine.looks == pytest.approx(looks, abs=1 if looks > 3 else 0)
