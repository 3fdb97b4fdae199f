"""Makes graph nodes of steps: services, error boundary and tracing tags around each."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Literal, Protocol, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.guard import hide_internal_errors, report_refusals
from thoughtcycle.nodes.base.run import Run
from thoughtcycle.nodes.base.services import Provider, Services
from thoughtcycle.nodes.base.tracing import tag_run

State = TypeVar("State", contravariant=True)
RunT = TypeVar("RunT", bound=Run)


T = TypeVar("T")


class MemoryThread(Protocol):
    """An open memory on an event loop of its own thread."""

    @property
    def memory(self) -> Memory:
        """The memory, which is used on that loop alone."""
        ...

    def run(self, work: Coroutine[Any, Any, T], /) -> T:
        """The result of `work` on that loop, for a blocking caller."""
        ...

    def start(self, work: Coroutine[Any, Any, T], /) -> "Future[T]":
        """Starts `work` on that loop."""
        ...


class Node(Runnable[Any, dict[str, Any]]):
    """A step as LangGraph calls it: on the running event loop, or on that of a `thread`.

    With a thread the graph's blocking calls work, too; without one they raise InputRefused.
    """

    def __init__(
        self,
        run: Callable[[Any, Runtime[Context]], Coroutine[Any, Any, dict[str, Any]]],
        thread: MemoryThread | None,
    ) -> None:
        self._run, self._thread = run, thread

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """The partial update of one run of the step."""
        work = self._run(input, get_runtime(Context))
        if self._thread is None:
            return await work
        return await asyncio.wrap_future(self._thread.start(work))

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """As `ainvoke`, for `graph.invoke` and `graph.stream`. Raises InputRefused('memory_asynchronous')."""
        if self._thread is None:
            raise InputRefused("memory_asynchronous")
        return self._thread.run(self._run(input, get_runtime(Context)))


def make_node(
    step: Callable[[RunT], Awaitable[dict[str, Any]]],
    provide: Provider,
    open_run: Callable[[State, Runtime[Context], Services], RunT],
    *,
    kind: Literal["step", "action"] = "step",
    background: bool = False,
    thread: MemoryThread | None = None,
) -> Node:
    """The node of a step; one in the `background` starts when the process is idle."""

    async def run(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
        services = await provide()
        if background:
            await services.wait_until_idle()
        with (
            hide_internal_errors(runtime, services),
            report_refusals(runtime.stream_writer, services.language),
        ):
            opened = open_run(state, runtime, services)
            tag_run(kind, opened.user)
            return await step(opened)

    return Node(run, thread)
