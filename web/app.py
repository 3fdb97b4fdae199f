"""The ASGI app: API, page and streaming chat, with the graph in process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from thoughtcycle.graph.settings import Settings, load_settings
from thoughtcycle.mind.roles import ModelSettings
from thoughtcycle.web import channels, failures, operations
from thoughtcycle.web.api import channels as channel_links
from thoughtcycle.web.api import chat, conversations, files, jobs, memories, user
from thoughtcycle.web.observing import Figures, Observing
from thoughtcycle.web.pages import routing, site
from thoughtcycle.web.serving import serve

ROUTERS = (
    chat.router,
    files.router,
    memories.router,
    conversations.router,
    user.router,
    jobs.router,
    operations.router,
    operations.closed,
    channel_links.router,
    channels.router,
)


def create_app(settings: Settings | None = None, models: ModelSettings | None = None) -> FastAPI:
    """The app over these settings (None: the environment's); InputRefused at one that cannot be used."""
    configured = load_settings() if settings is None else settings

    figures = Figures()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with serve(configured, models) as serving:
            app.state.serving = serving
            turns = serving.turns
            figures.watch("thoughtcycle_turns_running", "Turns under way", lambda: turns.running)
            figures.watch("thoughtcycle_turns_waiting", "Turns that wait", lambda: turns.waiting)
            yield

    app = FastAPI(
        title="thoughtcycle",
        version=version("thoughtcycle"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        max_body_size=configured.web.body_bytes,
    )
    app.state.public = configured.auth.on
    app.state.figures = figures
    app.add_middleware(Observing, figures=figures)
    failures.install(app, routing.as_page)
    for router in ROUTERS:
        app.include_router(router)
    site.install(app)
    return app
