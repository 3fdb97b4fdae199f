"""An event loop on a thread of its own, for callers that block and for callers on other loops."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future, wait
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines on its thread while it is open; a caller waits for what its own gives."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="event loop", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` to its result. Ctrl-C cancels it, waits until it has ended, and is raised then."""
        handed: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            task = self._loop.create_task(work)
            tasks.append(task)
            task.add_done_callback(lambda done: _hand_over(done, handed))

        def cancel() -> None:
            for task in tasks:
                task.cancel()

        self._loop.call_soon_threadsafe(start)
        try:
            return handed.result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(cancel)
            wait([handed])
            raise

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Starts `work` and returns its future; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()


def _hand_over(done: "asyncio.Task[T]", handed: "Future[T]") -> None:
    if done.cancelled():
        handed.set_exception(CancelledError())
    elif (error := done.exception()) is not None:
        handed.set_exception(error)
    else:
        handed.set_result(done.result())
