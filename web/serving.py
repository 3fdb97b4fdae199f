"""What the routes work with: the process's resources and its turns, open as long as the app runs."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from thoughtcycle.graph.resources import Resources, hold
from thoughtcycle.graph.settings import Settings
from thoughtcycle.mind.roles import ModelSettings
from thoughtcycle.web.gate import Gate
from thoughtcycle.web.turns import Turns


@dataclass(frozen=True)
class Serving:
    """One running server."""

    settings: Settings
    resources: Resources
    turns: Turns
    gate: Gate
    clock: Callable[[], float] = time.time
    """Unix seconds."""


@asynccontextmanager
async def serve(settings: Settings, models: ModelSettings | None) -> AsyncIterator[Serving]:
    """Opens memory, mind, checkpointer and worker; on leaving, turns that still run write what they said."""
    async with hold(settings, models) as resources:
        gate = Gate.of(settings)
        turns = Turns(resources, gate.budget)
        await resources.services.mind.warm()
        try:
            yield Serving(settings, resources, turns, gate)
        finally:
            await turns.aclose()
