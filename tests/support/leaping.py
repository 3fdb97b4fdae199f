"""Lets the time-outs of a test's event loop pass at once, so that no test needs a short one.

A time-out in which something must succeed has to be long enough for a slow moment of a busy machine. Where it is to
pass, the loop's clock leaps over it as soon as there is nothing left to come.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from support.fake_openai import FakeOpenAI

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
PATIENCE = 60.0
"""Seconds that a model may take in tests, on a machine that is busy with other things, too; and those of a leap."""


class Leap:
    """The clock of the running loop, which anybody may put forward."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._time, self._ahead = self._loop.time, 0.0
        self._loop.time = self._now  # type: ignore[method-assign]

    def __call__(self, seconds: float = PATIENCE) -> None:
        """Puts the clock forward, on the loop's own thread."""
        self._ahead += seconds

    def from_elsewhere(self) -> None:
        """Puts the clock forward, on any thread, when the loop has read what it was sent until now."""
        self._loop.call_soon_threadsafe(self)

    def at(self) -> datetime:
        """The time by this clock; it counts from a day of no meaning."""
        return START + timedelta(seconds=self._now())

    def _now(self) -> float:
        return self._time() + self._ahead


@pytest.fixture
async def leap() -> Leap:
    """The clock of the test's loop."""
    return Leap()


@pytest.fixture
async def silence_passes(leap: Leap, fake_openai: FakeOpenAI) -> AsyncIterator[None]:
    """The loop's clock leaps whenever the fake server leaves a request without a word.

    Where it falls silent after some words, the test leaps when it has heard them.
    """
    fake_openai.on_silence = leap.from_elsewhere
    yield
    fake_openai.on_silence = None
