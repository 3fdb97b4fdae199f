"""The page and the API beside LangGraph's own server (`http.app` of langgraph.json)."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import current_thread, main_thread
from types import FrameType

from fastapi import FastAPI
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.runtime.env_file import read_env_file
from thoughtcycle.runtime.settings import Settings, load_settings
from thoughtcycle.web.app import create_app


class MountedApp(BaseRoute):
    """All routes of an app as one route, with its middleware, headers and failures around them only.

    A server that takes over an app's routes one by one would put these around its own answers, too.
    """

    def __init__(self, app: FastAPI) -> None:
        self.app = app

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether the path is one of the app's, with whatever method."""
        known = any(route.matches(scope)[0] is not Match.NONE for route in self.app.routes)
        return (Match.FULL if known else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The app's answer."""
        outer = ("router", "route", "endpoint")  # the outer server's routes; starlette.…: its body limit
        kept = {key: scope[key] for key in scope if key not in outer and not key.startswith("starlette.")}
        await self.app(kept, receive, send)


@contextmanager
def on_stop_signal(act: Callable[[], object]) -> Iterator[None]:
    """Calls `act` on the running loop at SIGINT and SIGTERM, beside the handlers that a server has for them.

    Does nothing off the main thread, where Python handles no signals, and without such handlers.
    """
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM) if current_thread() is main_thread() else ()
    former = {one: handler for one in signals if callable(handler := signal.getsignal(one))}

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(act)
        former[signal.Signals(number)](number, frame)

    for one in former:
        signal.signal(one, handle)
    try:
        yield
    finally:
        for one, handler in former.items():
            if signal.getsignal(one) is handle:
                signal.signal(one, handler)


def create_served(settings: Settings | None = None, models: ModelSettings | None = None) -> FastAPI:
    """An app whose routes another server takes over, and whose lifespan holds worker and gardens.

    Bodies that are too long are refused on that server's routes, too. Running replies are cut when the
    process is told to stop: that server waits for open responses first, without a limit.
    """
    configured = load_settings() if settings is None else settings
    inner = create_app(configured, models)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with inner.router.lifespan_context(inner):
            turns = inner.state.server.turns
            with on_stop_signal(lambda: asyncio.ensure_future(turns.aclose())):
                yield

    outer = FastAPI(
        title=inner.title,
        version=inner.version,
        routes=[MountedApp(inner)],
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        max_body_size=configured.web.body_bytes,
    )
    outer.openapi = inner.openapi  # type: ignore[method-assign]
    return outer


read_env_file()
app = create_served()
