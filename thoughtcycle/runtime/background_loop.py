"""An event loop on its own thread, for blocking callers and for callers on other loops."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future, wait
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines on its thread while it is open."""

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
        """Runs `work` to its result. Ctrl-C cancels it, waits until it has ended, and is then raised."""
        result: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            tasks.append(self._loop.create_task(work))
            tasks[0].add_done_callback(lambda task: _copy_result(task, result))

        self._loop.call_soon_threadsafe(start)
        try:
            return result.result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
            wait([result])
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


def _copy_result(task: "asyncio.Task[T]", result: "Future[T]") -> None:
    if task.cancelled():
        result.set_exception(CancelledError())
    elif (error := task.exception()) is not None:
        result.set_exception(error)
    else:
        result.set_result(task.result())
