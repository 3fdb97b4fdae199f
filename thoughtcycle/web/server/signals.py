"""Stop signals while an outer server still waits for its open responses."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_stop_signal(act: Callable[[], object]) -> Iterator[None]:
    """Calls `act` on the running loop at SIGINT and SIGTERM, beside the handlers that a server has for them.

    Does nothing off the main thread, where Python handles no signals, and without such handlers.
    """
    loop = asyncio.get_running_loop()
    handlers = {one: signal.getsignal(one) for one in SIGNALS} if current_thread() is main_thread() else {}
    former = {one: handler for one, handler in handlers.items() if callable(handler)}

    def told(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(act)
        former[signal.Signals(number)](number, frame)

    for one in former:
        signal.signal(one, told)
    try:
        yield
    finally:
        for one, handler in former.items():
            if signal.getsignal(one) is told:
                signal.signal(one, handler)
