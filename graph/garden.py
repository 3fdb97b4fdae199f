"""The garden graph, maintenance of memories: merge -> archive -> condense."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import utc_now
from thoughtcycle.mind.base import Mind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.guard import report_refusals
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.public_errors import hide_internal_errors
from thoughtcycle.nodes.base.services import Provider, Services, provider_of
from thoughtcycle.nodes.base.tracing import tag_run
from thoughtcycle.nodes.garden.archive import archive
from thoughtcycle.nodes.garden.condense import condense
from thoughtcycle.nodes.garden.merge import merge
from thoughtcycle.nodes.garden.run import GardenRun, open_garden_run
from thoughtcycle.nodes.garden.state import GardenInput, GardenOutput, GardenState, GardenUpdate
from thoughtcycle.prompts.loader import Language

NAME = "garden"

Step = Callable[[GardenRun], Awaitable[GardenUpdate]]
Builder = StateGraph[GardenState, Context, GardenInput, GardenOutput]
GardenGraph = CompiledStateGraph[GardenState, Context, GardenInput, GardenOutput]

STEPS: tuple[tuple[str, Step], ...] = (("merge", merge), ("archive", archive), ("condense", condense))
"""In their order; each may be repeated, and finds nothing to do then."""


class Node(Protocol):
    """A step as LangGraph calls it."""

    def __call__(self, state: GardenState, *, runtime: Runtime[Context]) -> Awaitable[GardenUpdate]:
        """The partial update of one run of the step."""
        ...


def builder(provide: Provider) -> Builder:
    """The uncompiled graph; `provide` gives the services whenever a step runs."""

    def node(step: Step) -> Node:
        async def run(state: GardenState, *, runtime: Runtime[Context]) -> GardenUpdate:
            services = await provide()
            await services.wait_until_idle()
            with (
                hide_internal_errors(runtime, services),
                report_refusals(runtime.stream_writer, services.language),
            ):
                gardening = open_garden_run(state, runtime, services)
                tag_run("step", gardening.user)
                return await step(gardening)

        return run

    graph: Builder = StateGraph(
        GardenState, context_schema=Context, input_schema=GardenInput, output_schema=GardenOutput
    )
    last = START
    for name, step in STEPS:
        graph.add_node(name, node(step))
        graph.add_edge(last, name)
        last = name
    graph.add_edge(last, END)
    return graph


def compile_garden(services: Services) -> GardenGraph:
    """The compiled graph over services that somebody else opened."""
    return builder(provider_of(services)).compile(name=NAME)


def create_garden(
    *,
    memory: Memory,
    mind: Mind,
    limits: Limits | None = None,
    single_user: str | None = None,
    language: Language = "pt",
    clock: Callable[[], datetime] = utc_now,
) -> GardenGraph:
    """The compiled garden graph over an open memory and a mind.

    Give it `{"dry_run": …}` and a Context that names the user. A dry run changes nothing and says what would
    happen and why.
    """
    return compile_garden(Services(memory, mind, limits or Limits(), single_user, language, clock))
