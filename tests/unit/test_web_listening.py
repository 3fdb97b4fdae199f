"""The web server ends where it is told to, on any event loop."""

import asyncio
import signal

import pytest
import uvicorn
from fastapi import FastAPI

from thoughtcycle.web.server.server import _Server


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
async def test_signals_end_it_where_the_loop_knows_none(
    monkeypatch: pytest.MonkeyPatch, told: signal.Signals
) -> None:
    windows = asyncio.AbstractEventLoop.add_signal_handler
    monkeypatch.setattr(type(asyncio.get_running_loop()), "add_signal_handler", windows)
    server, before = _Server(uvicorn.Config(FastAPI())), signal.getsignal(told)
    with server.capture_signals():
        signal.raise_signal(told)
        assert server.should_exit
    assert signal.getsignal(told) is before
