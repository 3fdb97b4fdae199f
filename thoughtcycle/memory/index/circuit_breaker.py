"""A circuit breaker around an embedding model: one that is known to be missing is not asked each time."""

import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from thoughtcycle.errors import EmbeddingsAway, ModelFailed, ModelRefused, ModelTimeout, ModelTransient
from thoughtcycle.memory.index.embedder import Embedder

log = logging.getLogger(__name__)

T = TypeVar("T")

REFUSED_SECONDS = 300.0
"""Until a model is asked again whose server refused it: no such address, no such model, a bad key."""
SLOW_SECONDS = 60.0
"""Until a model is asked again that did not answer in time."""


class CircuitBreaker:
    """An Embedder that fails at once for a while after its model was refused or timed out.

    A model that has never answered counts as refused whatever the server has against it.
    """

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.name = inner.name
        self._failure: EmbeddingsAway | None = None
        self._until = 0.0
        self._told = self._answered = False

    @property
    def away(self) -> bool:
        """Whether the model is known not to answer now."""
        return self._failure is not None and time.monotonic() < self._until

    @property
    def refused(self) -> bool:
        """Whether the server is known not to serve the model: waiting does not help."""
        return self._failure is not None and self.away and not self._failure.passing

    def take_notice(self) -> EmbeddingsAway | None:
        """The failure since which memories are found by words alone; None once it was given."""
        if self._told or self._failure is None:
            return None
        self._told = True
        return self._failure

    async def aembed_documents(self, texts: list[str], /) -> list[list[float]]:
        """See Embedder. Raises EmbeddingsAway."""
        return await self._asked(lambda: self.inner.aembed_documents(texts))

    async def aembed_query(self, text: str, /) -> list[float]:
        """See Embedder. Raises EmbeddingsAway."""
        return await self._asked(lambda: self.inner.aembed_query(text))

    async def _asked(self, call: Callable[[], Awaitable[T]]) -> T:
        if self._failure is not None and self.away:
            raise self._failure.with_traceback(None)
        try:
            answer = await call()
        except ModelFailed as failure:
            slow = isinstance(failure, ModelTimeout)
            unknown = not self._answered and not isinstance(failure, ModelTransient)
            if not (slow or unknown or isinstance(failure, ModelRefused)):
                raise
            away = EmbeddingsAway(failure)
            if self._failure is None:
                log.warning("memories are found by their words alone: %s", away)
            self._failure = away
            self._until = time.monotonic() + (SLOW_SECONDS if slow else REFUSED_SECONDS)
            raise away from failure
        self._failure, self._answered = None, True
        return answer
