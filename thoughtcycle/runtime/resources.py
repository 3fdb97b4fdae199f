"""Memory, mind and checkpointer of an event loop: opened once, closed by their last holder."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from weakref import WeakKeyDictionary

from thoughtcycle.checkpoints.factory import Saver
from thoughtcycle.errors import StorageFailed
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.idle_wait import wait_until_idle
from thoughtcycle.runtime.opening import open_services
from thoughtcycle.runtime.settings import Settings, load_settings
from thoughtcycle.runtime.tracing import set_up
from thoughtcycle.runtime.upkeep import create_worker

log = logging.getLogger(__name__)

QUIET_SECONDS = 3.0
"""Delay of the worker of a new process: the first reply comes first."""


@dataclass(frozen=True)
class Resources:
    """The open resources of one event loop."""

    settings: Settings
    services: Services
    checkpointer: Saver


@dataclass
class _Held:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    resources: Resources | None = None
    holders: int = 0


_held: WeakKeyDictionary[asyncio.AbstractEventLoop, _Held] = WeakKeyDictionary()


@asynccontextmanager
async def hold(
    settings: Settings | None = None, models: ModelSettings | None = None
) -> AsyncIterator[Resources]:
    """The loop's resources, opened by the first holder with its settings and closed by the last."""
    held = _held.setdefault(asyncio.get_running_loop(), _Held())
    resources = await _enter(held, settings, models)
    try:
        yield resources
    finally:
        async with held.lock:
            held.holders -= 1
            if held.holders == 0:
                held.resources = None
                await held.stack.aclose()


async def borrow() -> Services:
    """The services of the running loop; opened for as long as the loop where nobody holds them."""
    held = _held.setdefault(asyncio.get_running_loop(), _Held())
    resources = held.resources or await _enter(held, None, None)
    return resources.services


async def _enter(held: _Held, settings: Settings | None, models: ModelSettings | None) -> Resources:
    async with held.lock:
        if held.resources is None:
            held.resources = await _open(held.stack, settings, models)
        held.holders += 1
        return held.resources


async def _open(stack: AsyncExitStack, settings: Settings | None, models: ModelSettings | None) -> Resources:
    """Opens everything or nothing: after a failure, what is already open is closed."""
    if settings is None:
        settings = await asyncio.to_thread(load_settings)
    if models is None:
        models = await asyncio.to_thread(ModelSettings)
    if (notice := await asyncio.to_thread(set_up, settings.trace_key)) is not None:
        log.warning("%s", notice.text(settings.language or "pt"))
    async with AsyncExitStack() as opening:
        services, checkpointer = await opening.enter_async_context(
            open_services(settings, models, spooled=True)
        )
        services = replace(services, wait_until_idle=wait_until_idle)
        grace = timedelta(hours=settings.limits.grace_hours)
        try:
            await services.memory.erase_due(grace)
        except StorageFailed as failure:
            log.warning("what is due is erased later: %s", failure.code)
        worker = create_worker(services, grace)
        opening.push_async_callback(_stop, asyncio.create_task(worker.run(after=QUIET_SECONDS)))
        stack.push_async_exit(opening.pop_all())
    return Resources(settings, services, checkpointer)


async def _stop(working: "asyncio.Task[None]") -> None:
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
