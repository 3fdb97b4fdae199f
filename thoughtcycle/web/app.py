"""The ASGI app: API, page and streaming chat, with the graph in process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.runtime.settings import Settings, load_settings
from thoughtcycle.web import webhooks
from thoughtcycle.web.api import channels as channel_links
from thoughtcycle.web.api import chat, conversations, jobs, memories, user
from thoughtcycle.web.pages import account, login, memory, routing
from thoughtcycle.web.pages import chat as chat_page
from thoughtcycle.web.pages import conversations as conversation_pages
from thoughtcycle.web.pages import memories as memory_list
from thoughtcycle.web.pages.rendering import STATIC
from thoughtcycle.web.server import failures, operations
from thoughtcycle.web.server.dependencies import open_server
from thoughtcycle.web.server.headers import SecurityHeaders, StaticPageFiles
from thoughtcycle.web.server.metrics import MetricsMiddleware, ServerMetrics

ROUTERS = (
    chat.router,
    memories.router,
    conversations.router,
    user.router,
    jobs.router,
    operations.router,
    operations.authenticated,
    channel_links.router,
    webhooks.router,
    login.router,
    chat_page.router,
    memory_list.router,
    memory.router,
    conversation_pages.router,
    account.router,
)


def create_app(settings: Settings | None = None, models: ModelSettings | None = None) -> FastAPI:
    """The app over these settings (None: the environment's); InputRefused at one that cannot be used."""
    configured = load_settings() if settings is None else settings

    metrics = ServerMetrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_server(configured, models) as server:
            app.state.server = server
            turns = server.turns
            metrics.add_gauge("thoughtcycle_turns_running", "Turns under way", lambda: turns.running)
            metrics.add_gauge("thoughtcycle_turns_waiting", "Turns that wait", lambda: turns.waiting)
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
    app.state.metrics = metrics
    app.add_middleware(MetricsMiddleware, metrics=metrics)
    app.add_middleware(SecurityHeaders)
    failures.install(app, routing.failure_page)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticPageFiles(directory=STATIC), name="static")
    return app
