"""The services of the steps; bound once, when a graph is built."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import utc_now
from thoughtcycle.mind.base import Mind
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.prompts.loader import Language


async def _no_wait() -> None:
    """Returns at once."""


@dataclass(frozen=True)
class Services:
    """Memory, mind, limits and defaults of a deployment."""

    memory: Memory
    mind: Mind
    limits: Limits = field(default_factory=Limits)
    single_user: str | None = None
    """The user of a deployment that has only one; None: every run must name its user."""
    language: Language = "pt"
    """The language of a thread in which no message has shown one yet."""
    clock: Callable[[], datetime] = utc_now
    time_zone: str = "UTC"
    """The time zone where neither the run nor the user names one."""
    public: bool = False
    """Whether callers may be strangers: errors then name no address, file, model or setting."""
    wait_until_idle: Callable[[], Awaitable[None]] = _no_wait
    """Awaited before each background step: delays it while replies are being made."""

    def connected(self) -> "Services":
        """The same; what models refuse is kept in the database from now on."""
        self.mind.keep_refusals(self.memory.core.storage.learned)
        return self


Provider = Callable[[], Awaitable[Services]]
"""Gives the services of the running event loop; opening them does no I/O on the loop."""


def provider_of(services: Services) -> Provider:
    """A provider of services that the caller has opened."""

    async def provide() -> Services:
        return services

    return provide
