"""The services that steps use beside state and context; bound once, when a graph is built."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import utc_now
from thoughtcycle.mind.base import Mind
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.prompts.loader import Language


async def _at_once() -> None:
    """Waits for nothing."""


@dataclass(frozen=True)
class Services:
    """The memory, the mind, and how far each may go."""

    memory: Memory
    mind: Mind
    limits: Limits = field(default_factory=Limits)
    single_user: str | None = None
    """The user of a deployment that has only one; None: every run must name its user."""
    language: Language = "pt"
    """Of a thread whose messages have not shown theirs yet."""
    clock: Callable[[], datetime] = utc_now
    time_zone: str = "UTC"
    """Of users who have set none, where the run names none either."""
    public: bool = False
    """Whether strangers call: failures then name no address, file, model or setting."""
    wait_until_idle: Callable[[], Awaitable[None]] = _at_once
    """Awaited before each step behind the replies: it may have them wait while replies are made."""


Provider = Callable[[], Awaitable[Services]]
"""Gives the services of the running event loop; opening them does no I/O on the loop."""


def provider_of(services: Services) -> Provider:
    """A provider of services that somebody else opened."""

    async def provide() -> Services:
        return services

    return provide
