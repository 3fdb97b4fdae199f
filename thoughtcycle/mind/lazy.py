"""Lazy initialisation: builds a value once, however many ask for it at the same moment."""

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value built on first use. A failure goes to the caller; the next call builds again."""

    def __init__(self, build: Callable[[], T]) -> None:
        self._build = build
        self._lock = Lock()
        self._built: T | None = None

    def now(self) -> T:
        """The value, built on this thread."""
        with self._lock:
            if self._built is None:
                self._built = self._build()
            return self._built

    async def ready(self) -> T:
        """The value, built off the event loop: building may read files or import for seconds."""
        return self._built if self._built is not None else await asyncio.to_thread(self.now)
