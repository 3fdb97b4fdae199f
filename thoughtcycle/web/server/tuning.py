"""Tunes the process of `thoughtcycle web` for many users: garbage, free memory, threads, event loop.

Nothing else in the package changes these for a process: whoever embeds it keeps their own.
"""

import asyncio
import ctypes
import gc
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

SWITCH_SECONDS = 0.0005
"""How long a thread computes while the event loop waits for its turn: Python's 5 ms, at each of the dozens of
looks at the network that a reply takes, would add up to a tenth of a second."""
TRIM_SECONDS = 60.0
"""Interval of trimming, which takes a few milliseconds on a thread."""


def event_loop(tuned: bool) -> Literal["auto", "asyncio"]:
    """uvicorn's name of the event loop: uvloop where it is installed, else asyncio's."""
    return "auto" if tuned else "asyncio"


@contextmanager
def starting(tuned: bool) -> Iterator[None]:
    """Turns garbage collection off until `serving`, or the end: what a start allocates mostly stays."""
    if not tuned:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@asynccontextmanager
async def serving(tuned: bool) -> AsyncIterator[None]:
    """Keeps the event loop quick while requests are answered."""
    if not tuned:
        yield
        return
    freeze()
    sys.setswitchinterval(SWITCH_SECONDS)
    trimming = asyncio.create_task(keep_trimming(trimmer()))
    try:
        yield
    finally:
        trimming.cancel()


def freeze() -> None:
    """Turns garbage collection on again, without the existing objects.

    Those are a quarter of a million imported ones: a collection would stop all replies for 0.1 to 0.2 s.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def trimmer() -> Callable[[], object] | None:
    """A function that returns free pages to the system (malloc_trim(3)); None with another C library.

    glibc keeps them for the threads that once took them.
    """
    if not sys.platform.startswith("linux"):
        return None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:  # musl
        return None
    trim.argtypes = [ctypes.c_size_t]
    return lambda: trim(0)


async def keep_trimming(trim: Callable[[], object] | None, every: float = TRIM_SECONDS) -> None:
    """Trims until it is cancelled; returns at once where there is nothing to do it with."""
    while trim is not None:
        await asyncio.sleep(every)
        await asyncio.to_thread(trim)
