"""The formation graph: extracts memories from a cycle behind its reply; the filter decides what is judged."""

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
from thoughtcycle.nodes.formation.compress import compress
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
from thoughtcycle.nodes.formation.summarise import summarise
from thoughtcycle.nodes.formation.update_profile import update_profile
from thoughtcycle.prompts.loader import Language

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
"""In their order, those aside that have nothing to do; each may be repeated."""


class Node(Protocol):
    """A step as LangGraph calls it."""

    def __call__(self, state: FormationState, *, runtime: Runtime[Context]) -> Awaitable[FormationUpdate]:
        """The partial update of one run of the step."""
        ...


def builder(provide: Provider) -> Builder:
    """The uncompiled graph; `provide` gives the services whenever a step runs."""

    def node(step: Step) -> Node:
        async def run(state: FormationState, *, runtime: Runtime[Context]) -> FormationUpdate:
            services = await provide()
            await services.wait_until_idle()
            with (
                hide_internal_errors(runtime, services),
                report_refusals(runtime.stream_writer, services.language),
            ):
                forming = open_formation_run(state, runtime, services)
                tag_run("step", forming.user)
                return await step(forming)

        return run

    graph: Builder = StateGraph(
        FormationState,
        context_schema=Context,
        input_schema=FormationInput,
        output_schema=FormationOutput,
    )
    for name, step in STEPS:
        graph.add_node(name, node(step))
    graph.add_edge(START, "sift")
    graph.add_conditional_edges("sift", _after_sifting, ["judge", END])
    graph.add_conditional_edges("judge", _after_judging, ["reconcile", "age"])
    graph.add_edge("reconcile", "observe")
    graph.add_edge("observe", "age")
    graph.add_conditional_edges("age", _after_ageing, ["summarise", "compress", "embed"])
    graph.add_edge("summarise", "compress")
    graph.add_edge("compress", "embed")
    graph.add_edge("embed", "finish")
    graph.add_edge("finish", END)
    return graph


async def _after_sifting(state: FormationState) -> str:
    return END if state["done"] else "judge"


async def _after_judging(state: FormationState) -> str:
    return "reconcile" if state["dropped"] is None else "age"


async def _after_ageing(state: FormationState) -> str:
    return state["due"]


def compile_formation(services: Services) -> Formation:
    """The compiled graph over services that somebody else opened."""
    return builder(provider_of(services)).compile(name=NAME)


def create_formation(
    *,
    memory: Memory,
    mind: Mind,
    limits: Limits | None = None,
    single_user: str | None = None,
    language: Language = "pt",
    clock: Callable[[], datetime] = utc_now,
) -> Formation:
    """The compiled formation graph over an open memory and a mind.

    Give it `{"cycle_id": …}`, or an empty id for the user's oldest cycle that waits, and a Context that names
    the user. Every step can be repeated, so that a run that a crash ended is simply begun anew.
    """
    return compile_formation(Services(memory, mind, limits or Limits(), single_user, language, clock))
