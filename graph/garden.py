"""The garden graph, maintenance of memories: merge -> archive -> condense."""

from collections.abc import Awaitable, Callable

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from thoughtcycle.graph.node import make_node
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Provider, Services, provider_of
from thoughtcycle.nodes.garden.archive import archive
from thoughtcycle.nodes.garden.condense import condense
from thoughtcycle.nodes.garden.merge import merge
from thoughtcycle.nodes.garden.run import GardenRun, open_garden_run
from thoughtcycle.nodes.garden.state import GardenInput, GardenOutput, GardenState, GardenUpdate

NAME = "garden"

Step = Callable[[GardenRun], Awaitable[GardenUpdate]]
Builder = StateGraph[GardenState, Context, GardenInput, GardenOutput]
GardenGraph = CompiledStateGraph[GardenState, Context, GardenInput, GardenOutput]

STEPS: tuple[tuple[str, Step], ...] = (("merge", merge), ("archive", archive), ("condense", condense))
"""In their order; each is idempotent."""


def builder(provide: Provider) -> Builder:
    """The uncompiled graph; `provide` gives the services whenever a step runs."""
    graph: Builder = StateGraph(
        GardenState, context_schema=Context, input_schema=GardenInput, output_schema=GardenOutput
    )
    last = START
    for name, step in STEPS:
        graph.add_node(name, make_node(step, provide, open_garden_run, background=True))
        graph.add_edge(last, name)
        last = name
    graph.add_edge(last, END)
    return graph


def compile_garden(services: Services) -> GardenGraph:
    """The compiled graph over services that the caller has opened.

    Its input is `{"dry_run": …}`; the Context names the user. A dry run changes nothing and lists what would
    change, and why.
    """
    return builder(provider_of(services)).compile(name=NAME)
