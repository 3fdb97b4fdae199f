"""Runs calls on the memory's event loop, from that loop, from another, or from none."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.runtime.background_loop import BackgroundLoop

T = TypeVar("T")

MemoryCall: TypeAlias = Callable[[Memory], Coroutine[Any, Any, T]]
"""Work to run on a memory."""


@dataclass(frozen=True)
class BackgroundMemory:
    """An open memory on an event loop of its own: apps may reach it with `invoke` as well as `ainvoke`."""

    memory: Memory
    loop: BackgroundLoop
    _stack: AsyncExitStack

    def enter(self, opening: AbstractAsyncContextManager[T]) -> T:
        """Opens something on the memory's event loop, e.g. a checkpointer; it is closed before the memory."""
        return self.loop.run(self._stack.enter_async_context(opening))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work` on the memory's event loop, for a blocking caller."""
        return self.loop.run(work)

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Starts `work` on the memory's event loop."""
        return self.loop.start(work)


@dataclass(frozen=True)
class LoopMemory:
    """An open memory on the running event loop: callers on other threads may wait for it there."""

    memory: Memory
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)


MemoryHandle: TypeAlias = Memory | BackgroundMemory | LoopMemory
"""The memory of an adapter. A plain Memory is used on the event loop on which it was opened."""


@contextmanager
def in_background(opening: AbstractAsyncContextManager[Memory]) -> Iterator[BackgroundMemory]:
    """Opens a memory on an event loop of its own, for apps that have none; closes both on leaving.

        with in_background(Memory.open(url, embeddings=LexicalEmbeddings())) as memory: ...

    Raises what `opening` raises.
    """
    with BackgroundLoop() as loop:
        ready: Future[tuple[Memory, AsyncExitStack]] = Future()
        leave: Future[None] = Future()
        open_task = loop.start(_hold_open(opening, ready, leave))
        futures: list[Future[Any]] = [ready, open_task]
        wait(futures, return_when=FIRST_COMPLETED)
        if open_task.done():
            open_task.result()  # it could not be opened: raises
        try:
            memory, stack = ready.result()
            yield BackgroundMemory(memory, loop, stack)
        finally:
            leave.set_result(None)
            open_task.result()


async def run_async(handle: MemoryHandle, work: MemoryCall[T]) -> T:
    """Runs `work` on the memory's event loop."""
    if isinstance(handle, BackgroundMemory):
        return await asyncio.wrap_future(handle.start(work(handle.memory)))
    if isinstance(handle, LoopMemory):
        if handle.loop is asyncio.get_running_loop():
            return await work(handle.memory)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(handle.memory), handle.loop))
    return await work(handle)


def run_blocking(handle: MemoryHandle, work: MemoryCall[T]) -> T:
    """Runs `work` on the memory's event loop for a blocking caller.

    Raises InputRefused('memory_asynchronous') for a plain Memory: its event loop may be the one that is
    blocked.
    """
    if isinstance(handle, BackgroundMemory):
        return handle.run(work(handle.memory))
    if isinstance(handle, LoopMemory) and handle.loop is not _running_loop():
        return asyncio.run_coroutine_threadsafe(work(handle.memory), handle.loop).result()
    raise InputRefused("memory_asynchronous")


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _hold_open(
    opening: AbstractAsyncContextManager[Memory],
    ready: "Future[tuple[Memory, AsyncExitStack]]",
    leave: "Future[None]",
) -> None:
    """Opens and closes the memory in one task, as some resources demand."""
    async with opening as memory, AsyncExitStack() as stack:
        ready.set_result((memory, stack))
        await asyncio.wrap_future(leave)
