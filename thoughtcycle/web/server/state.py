"""The state of a running server: resources and turns, open as long as the app runs."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.runtime.resources import Resources, hold
from thoughtcycle.runtime.settings import Settings
from thoughtcycle.web.auth.middleware import AccessControl
from thoughtcycle.web.server.turns import TurnQueues


@dataclass(frozen=True)
class ServerState:
    """One running server."""

    settings: Settings
    resources: Resources
    turns: TurnQueues
    access: AccessControl
    clock: Callable[[], float] = time.time
    """Unix seconds."""


@asynccontextmanager
async def open_server(settings: Settings, models: ModelSettings | None) -> AsyncIterator[ServerState]:
    """Opens memory, mind, checkpointer and worker; on exit, running turns store their partial replies."""
    async with hold(settings, models) as resources:
        access = AccessControl.of(settings)
        turns = TurnQueues(resources, access.budget)
        await resources.services.mind.warm()
        try:
            yield ServerState(settings, resources, turns, access)
        finally:
            await turns.aclose()
