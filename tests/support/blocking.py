"""Blocking calls on the event loop become errors, as they do under `langgraph dev`."""

from collections.abc import Iterator
from contextlib import contextmanager

from blockbuster import BlockBuster

# What the dev server lets pass, and so do we: reading files and taking locks.
_ALLOWED = ("os.stat", "os.listdir", "os.remove", "os.path.", "io.", "threading.Lock.acquire")


@contextmanager
def no_blocking() -> Iterator[None]:
    """Raises BlockingError inside where a coroutine blocks."""
    guard = BlockBuster()
    for name in [name for name in guard.functions if name.startswith(_ALLOWED)]:
        del guard.functions[name]
    guard.activate()
    try:
        yield
    finally:
        guard.deactivate()
