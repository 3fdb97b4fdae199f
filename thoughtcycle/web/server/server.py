"""Runs the app on a port of this machine until it is told to stop."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

import uvicorn
from fastapi import FastAPI

from thoughtcycle.errors import InputRefused
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.runtime.settings import Settings
from thoughtcycle.web.app import create_app
from thoughtcycle.web.auth.callers import check_bind_address
from thoughtcycle.web.server import tuning
from thoughtcycle.web.server.metrics import JsonFormatter

GRACE_SECONDS = 3
"""How long a reply may go on after the server was told to stop; all is closed two seconds later."""


def listen(settings: Settings, models: ModelSettings, announce: Callable[[str], object]) -> None:
    """Serves until SIGINT or SIGTERM. `announce` gets the address once requests are accepted.

    InputRefused('listening_open') beyond this computer without authentication, 'port_taken' when the port is
    not ours; StorageFailed when the database cannot be opened.
    """
    host, port = settings.web.host, settings.web.port
    check_bind_address(host, settings)
    _log_to(sys.stderr)
    app = create_app(settings, models)
    config = uvicorn.Config(
        app,
        loop=tuning.event_loop(settings.web.tuning),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise InputRefused("port_taken", host=host, port=port, reason=error) from None
    shown = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    with listening, asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_serve(app, config, listening, settings.web.tuning, lambda: announce(shown)))


def _log_to(stream: TextIO) -> None:
    """Logs every request as a line; at a terminal only failures."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING if stream.isatty() else logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs addresses


async def _serve(
    app: FastAPI, config: uvicorn.Config, listening: socket.socket, tuned: bool, ready: Callable[[], object]
) -> None:
    """Opens the app's resources itself, so that a failure there is this function's and not a log line."""
    async with app.router.lifespan_context(app), tuning.serving(tuned):
        ready()
        await _Server(config).serve(sockets=[listening])


class _Server(uvicorn.Server):
    """A uvicorn server that ends on a signal and leaves the closing of resources to its caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn's own raises the signal again, which would end the process before the memory is closed.

        Not by the event loop, because that of Windows knows no signals.
        """
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
