"""What langgraph.json names as `http.app`: the page and the API beside LangGraph's own server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from thoughtcycle.graph.env_file import read_env_file
from thoughtcycle.graph.settings import Settings, load_settings
from thoughtcycle.mind.roles import ModelSettings
from thoughtcycle.web.app import create_app
from thoughtcycle.web.beside import Beside
from thoughtcycle.web.stopping import at_stop


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
            turns = ours.state.serving.turns
            with at_stop(lambda: asyncio.ensure_future(turns.aclose())):
                yield

    beside = FastAPI(
        title=ours.title,
        version=ours.version,
        routes=[Beside(ours)],
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
