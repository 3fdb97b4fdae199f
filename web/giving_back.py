"""Gives memory that was freed back to the system: glibc keeps it for the threads that once took it."""

import asyncio
import ctypes
import sys
from collections.abc import Callable

EVERY_SECONDS = 60.0
"""How often; it takes a few milliseconds on a thread, and what is taken again meanwhile costs as little."""


def trimmer() -> Callable[[], object] | None:
    """What gives back all whole pages that are free (malloc_trim(3)); None with another C library."""
    if not sys.platform.startswith("linux"):
        return None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:  # musl
        return None
    trim.argtypes = [ctypes.c_size_t]
    return lambda: trim(0)


async def give_back(trim: Callable[[], object] | None, every: float = EVERY_SECONDS) -> None:
    """Until it is cancelled; at once where there is nothing to do it with."""
    while trim is not None:
        await asyncio.sleep(every)
        await asyncio.to_thread(trim)
