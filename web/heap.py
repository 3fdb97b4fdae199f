"""The heap of a server: what stays is not looked through for garbage, what was freed goes back."""

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_SECONDS = 60.0
"""How often; it takes a few milliseconds on a thread, and what is taken again meanwhile costs as little."""


@contextmanager
def growing() -> Iterator[None]:
    """Until `settle`, or the end, no garbage is looked for: nearly all that a starting server makes stays."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def settle() -> None:
    """From here on garbage is looked for again, and not among what there is already.

    That is all that was imported, a quarter of a million objects: 0.1 to 0.2 s in which nobody is answered.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def trimmer() -> Callable[[], object] | None:
    """What gives back all whole pages that are free (malloc_trim(3)); None with another C library.

    glibc keeps them for the threads that once took them.
    """
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
