"""The page and the API beside LangGraph's own server (`http.app` of langgraph.json)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.runtime.env_file import read_env_file
from thoughtcycle.runtime.settings import Settings, load_settings
from thoughtcycle.web.app import create_app
from thoughtcycle.web.server.mounted import MountedApp
from thoughtcycle.web.server.signals import on_stop_signal


def create_served(settings: Settings | None = None, models: ModelSettings | None = None) -> FastAPI:
    """An app whose routes another server takes over, and whose lifespan holds worker and gardens.

    What is too long is refused on that server's routes, too. Replies under way are cut when the process is
    told to stop: that server waits for open answers first, without a limit.
    """
    configured = load_settings() if settings is None else settings
    ours = create_app(configured, models)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with ours.router.lifespan_context(ours):
            turns = ours.state.server.turns
            with on_stop_signal(lambda: asyncio.ensure_future(turns.aclose())):
                yield

    beside = FastAPI(
        title=ours.title,
        version=ours.version,
        routes=[MountedApp(ours)],
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        max_body_size=configured.web.body_bytes,
    )
    beside.openapi = ours.openapi  # type: ignore[method-assign]
    return beside


read_env_file()
app = create_served()
