"""Reaches a memory from where an app calls it: on the memory's own event loop, on another, or on none."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeAlias, TypeVar

from thoughtcycle.graph.background import BackgroundLoop
from thoughtcycle.memory.memory import Memory
from thoughtcycle.prompts.errors import InputRefused

T = TypeVar("T")

Work: TypeAlias = Callable[[Memory], Coroutine[Any, Any, T]]
"""What shall be done with a memory."""


class BackgroundMemory:
    """An open memory on an event loop of its own: apps may reach it with `invoke` as well as `ainvoke`."""

    def __init__(self, memory: Memory, loop: BackgroundLoop) -> None:
        self.memory = memory
        self.loop = loop


class LoopMemory:
    """An open memory on the running event loop: callers on other threads may wait for it there."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.loop = asyncio.get_running_loop()


Given: TypeAlias = Memory | BackgroundMemory | LoopMemory
"""What a door is opened with. A plain Memory is used on the event loop on which it was opened."""


@contextmanager
def in_background(opening: AbstractAsyncContextManager[Memory]) -> Iterator[BackgroundMemory]:
    """Opens a memory on an event loop of its own, for apps that have none; closes both on leaving.

        with in_background(Memory.open(url, embeddings=LexicalEmbeddings())) as memory: ...

    Raises what `opening` raises.
    """
    with BackgroundLoop() as loop:
        ready: Future[Memory] = Future()
        leave = asyncio.Event()
        staying = loop.start(_stay(opening, ready, leave))
        either: list[Future[Any]] = [ready, staying]
        wait(either, return_when=FIRST_COMPLETED)
        if staying.done():
            staying.result()  # it could not be opened: raises
        try:
            yield BackgroundMemory(ready.result(), loop)
        finally:
            loop.run(_leave(leave))
            staying.result()


async def reach(given: Given, work: Work[T]) -> T:
    """Does `work` where the memory lives."""
    if isinstance(given, BackgroundMemory):
        return await asyncio.wrap_future(given.loop.start(work(given.memory)))
    if isinstance(given, LoopMemory):
        if given.loop is asyncio.get_running_loop():
            return await work(given.memory)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(given.memory), given.loop))
    return await work(given)


def wait_for(given: Given, work: Work[T]) -> T:
    """Does `work` for a caller that blocks.

    Raises InputRefused('memory_asynchronous') for a plain Memory: its event loop may be the one that is
    blocked.
    """
    if isinstance(given, BackgroundMemory):
        return given.loop.run(work(given.memory))
    if isinstance(given, LoopMemory) and given.loop is not _running():
        return asyncio.run_coroutine_threadsafe(work(given.memory), given.loop).result()
    raise InputRefused("memory_asynchronous")


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _stay(
    opening: AbstractAsyncContextManager[Memory], ready: "Future[Memory]", leave: asyncio.Event
) -> None:
    """Opened and closed by one task, as what is opened may ask for."""
    async with opening as memory:
        ready.set_result(memory)
        await leave.wait()


async def _leave(leave: asyncio.Event) -> None:
    leave.set()
