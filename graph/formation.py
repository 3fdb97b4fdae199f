"""The formation graph: extracts memories from a cycle after its reply."""

from collections.abc import Awaitable, Callable

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from thoughtcycle.graph.node import make_node
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Provider, Services, provider_of
from thoughtcycle.nodes.formation.embed import embed
from thoughtcycle.nodes.formation.filter import filter_exchange
from thoughtcycle.nodes.formation.finish import finish
from thoughtcycle.nodes.formation.judge import judge
from thoughtcycle.nodes.formation.reconcile import reconcile
from thoughtcycle.nodes.formation.roll_window import roll_window
from thoughtcycle.nodes.formation.run import FormationRun, open_formation_run
from thoughtcycle.nodes.formation.state import (
    FormationInput,
    FormationOutput,
    FormationState,
    FormationUpdate,
)
from thoughtcycle.nodes.formation.summaries import compress, summarise
from thoughtcycle.nodes.formation.update_profile import update_profile

NAME = "formation"

Step = Callable[[FormationRun], Awaitable[FormationUpdate]]
Builder = StateGraph[FormationState, Context, FormationInput, FormationOutput]
Formation = CompiledStateGraph[FormationState, Context, FormationInput, FormationOutput]

STEPS: tuple[tuple[str, Step], ...] = (
    ("sift", filter_exchange),
    ("judge", judge),
    ("reconcile", reconcile),
    ("observe", update_profile),
    ("age", roll_window),
    ("summarise", summarise),
    ("compress", compress),
    ("embed", embed),
    ("finish", finish),
)
"""In their order; each is idempotent, and some are skipped."""


def builder(provide: Provider) -> Builder:
    """The uncompiled graph; `provide` gives the services whenever a step runs."""
    graph: Builder = StateGraph(
        FormationState,
        context_schema=Context,
        input_schema=FormationInput,
        output_schema=FormationOutput,
    )
    for name, step in STEPS:
        graph.add_node(name, make_node(step, provide, open_formation_run, background=True))
    graph.add_edge(START, "sift")
    graph.add_conditional_edges("sift", _after_filter, ["judge", END])
    graph.add_conditional_edges("judge", _after_judge, ["reconcile", "age"])
    graph.add_edge("reconcile", "observe")
    graph.add_edge("observe", "age")
    graph.add_conditional_edges("age", _after_window, ["summarise", "compress", "embed"])
    graph.add_edge("summarise", "compress")
    graph.add_edge("compress", "embed")
    graph.add_edge("embed", "finish")
    graph.add_edge("finish", END)
    return graph


async def _after_filter(state: FormationState) -> str:
    return END if state["done"] else "judge"


async def _after_judge(state: FormationState) -> str:
    return "reconcile" if state["dropped"] is None else "age"


async def _after_window(state: FormationState) -> str:
    return state["due"]


def compile_formation(services: Services) -> Formation:
    """The compiled graph over services that the caller has opened.

    Its input is `{"cycle_id": …}`; an empty id stands for the user's oldest pending cycle. The Context names
    the user. A run that a crash ended is started again: every step is idempotent.
    """
    return builder(provider_of(services)).compile(name=NAME)
