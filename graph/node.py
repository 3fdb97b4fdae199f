"""Makes graph nodes of steps: services, error boundary and tracing tags around each."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, TypeVar

from langgraph.runtime import Runtime

from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.guard import hide_internal_errors, report_refusals
from thoughtcycle.nodes.base.run import Run
from thoughtcycle.nodes.base.services import Provider, Services
from thoughtcycle.nodes.base.tracing import tag_run

State = TypeVar("State", contravariant=True)
RunT = TypeVar("RunT", bound=Run)


class Node(Protocol[State]):
    """A step as LangGraph calls it."""

    def __call__(self, state: State, *, runtime: Runtime[Context]) -> Awaitable[dict[str, Any]]:
        """The partial update of one run of the step."""
        ...


def make_node(
    step: Callable[[RunT], Awaitable[dict[str, Any]]],
    provide: Provider,
    open_run: Callable[[State, Runtime[Context], Services], RunT],
    *,
    kind: Literal["step", "action"] = "step",
    background: bool = False,
) -> Node[State]:
    """The node of a step; one in the `background` starts when the process is idle."""

    async def run(state: State, *, runtime: Runtime[Context]) -> dict[str, Any]:
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

    return run
