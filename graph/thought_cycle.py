"""The thought cycle graph: command? -> recall -> router <-> actions -> remember."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Literal

from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from thoughtcycle.checkpoints.erasure import bound
from thoughtcycle.graph.node import MemoryThread, Node, make_node
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import check_time_zone, utc_now
from thoughtcycle.mind.base import Mind
from thoughtcycle.nodes.actions.base import Action
from thoughtcycle.nodes.actions.registry import Registry, discover
from thoughtcycle.nodes.base.context import Context, ContextSource, adapt
from thoughtcycle.nodes.base.guard import Step, run_guarded
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.services import Provider, Services, provider_of
from thoughtcycle.nodes.base.state import RECALL, REMEMBER, InputState, OutputState, State
from thoughtcycle.nodes.base.turn import open_turn
from thoughtcycle.nodes.command import command
from thoughtcycle.nodes.recall import recall
from thoughtcycle.nodes.remember import remember
from thoughtcycle.nodes.router import router
from thoughtcycle.prompts.loader import Language

NAME = "thought_cycle"
RECURSION_LIMIT = 200
"""More super-steps than the longest cycle takes: 50 decisions of two steps, and both ends."""

Builder = StateGraph[State, Context, InputState, OutputState]
ThoughtCycle = CompiledStateGraph[State, Context, InputState, OutputState]


def builder(
    provide: Provider,
    *,
    actions: Registry | None = None,
    context: ContextSource = adapt,
    thread: MemoryThread | None = None,
) -> Builder:
    """The uncompiled graph, for callers who compile it with their own checkpointer and store.

    `provide` gives the services whenever a node runs; `actions` defaults to all that are installed;
    `context` makes our Context of `runtime.context` where that is another graph's type; `thread` runs all
    steps, for services of another event loop.
    """
    actions = discover() if actions is None else actions
    open_run = partial(open_turn, source=context)

    def node(step: Step, kind: Literal["step", "action"] = "step") -> Node:
        return make_node(partial(run_guarded, step), provide, open_run, kind=kind, thread=thread)

    graph: Builder = StateGraph(
        State, context_schema=Context, input_schema=InputState, output_schema=OutputState
    )
    graph.add_node("command", node(command))
    graph.add_node(RECALL, node(recall))
    graph.add_node("router", node(partial(router, actions=actions)))
    graph.add_node(REMEMBER, node(remember))
    graph.add_edge(START, "command")
    graph.add_conditional_edges("command", _ROUTE, [RECALL, REMEMBER, END])
    graph.add_edge(RECALL, "router")
    for name, action in actions.items():
        graph.add_node(name, node(action.run, "action"))
        graph.add_edge(name, REMEMBER if action.ends else "router")
    graph.add_conditional_edges("router", _ROUTE, [*actions, REMEMBER])
    graph.add_edge(REMEMBER, END)
    return graph


async def _next(state: State) -> str:
    return state["next_action"]


_ROUTE = RunnableLambda(lambda state: state["next_action"], _next, name="_next")
"""In two forms: in an asynchronous run LangGraph calls a plain function on another thread."""


def create_thought_cycle(
    *,
    memory: Memory | MemoryThread,
    mind: Mind,
    actions: Registry | Mapping[str, Action[Any]] | None = None,
    checkpointer: BaseCheckpointSaver[str] | bool | None = None,
    context: ContextSource = adapt,
    limits: Limits | None = None,
    single_user: str | None = None,
    language: Language = "pt",
    time_zone: str = "UTC",
    clock: Callable[[], datetime] = utc_now,
) -> ThoughtCycle:
    """The compiled thought cycle over an open memory and a mind.

    A memory of `in_background` lets `invoke` and `stream` work as well as `ainvoke` and `astream`: all steps
    run on its event loop. With a memory of the caller's loop the blocking ones raise InputRefused.
    `checkpointer` is that of LangGraph's `compile`: a saver, None, or True for a subgraph that keeps its own
    state across its parent's turns. A saver of `open_checkpointer` is bound to `memory`: hidden words are
    redacted on read, erased words are removed. `single_user` is the user of runs that name none (else they
    fail with NotAllowed), `language` that of threads whose language is not known yet, `time_zone` that of
    users who have set none. Raises InputRefused for an unknown zone.
    """
    check_time_zone(time_zone)
    thread = None if isinstance(memory, Memory) else memory
    memory = memory if isinstance(memory, Memory) else memory.memory
    services = Services(memory, mind, limits or Limits(), single_user, language, clock, time_zone).connected()
    registry = actions if isinstance(actions, Registry) or actions is None else Registry(actions.values())
    graph = builder(provider_of(services), actions=registry, context=context, thread=thread)
    bound(memory, checkpointer)
    return compile_cycle(graph, checkpointer)


def compile_cycle(
    graph: Builder, checkpointer: BaseCheckpointSaver[str] | bool | None = None
) -> ThoughtCycle:
    """The graph compiled under its name with our recursion limit: LangGraph's default is too low."""
    compiled = graph.compile(checkpointer=checkpointer, name=NAME)
    return compiled.with_config(recursion_limit=RECURSION_LIMIT)
