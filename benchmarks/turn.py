"""One turn (search, then finish) without model time: where its milliseconds go."""

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.graph import END, START, StateGraph

from benchmarks.machine import quantile, table
from benchmarks.stage import one_turn, stage
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.graph import thought_cycle
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.state import State

TURNS, MEASURED, MEMORIES = 200, 60, 1_000
KEPT = Limits().state_messages


async def run() -> str:
    """p50 and p95 after 200 turns on the thread; goals 60 ms and twice the empty graph."""
    with tempfile.TemporaryDirectory() as folder, _timed_nodes() as nodes:
        other = f"sqlite:///{folder}/empty.db"
        async with (
            stage(Path(folder), MEMORIES) as (graph, _, saver),
            open_checkpointer(other) as other_saver,
        ):
            writes = _timed_writes(saver)
            empty = _empty_graph(other_saver)
            for number in range(TURNS):
                await one_turn(graph, number)
                await one_turn(empty, number, "empty")
            nodes.clear()
            writes.clear()
            ours, bare = [], []
            for number in range(MEASURED):  # in turn, so that the machine's noise falls on both
                ours.append(await _timed(one_turn(graph, TURNS + number)))
                bare.append(await _timed(one_turn(empty, TURNS + number, "empty")))
            spent = {**nodes, **{f"checkpoint {name}": times for name, times in writes.items()}}
    factor = statistics.median(ours) / statistics.median(bare)
    whole = table(
        ("graph", "p50", "p95", "goal"),
        [
            ("thought cycle", *_p(ours), "p50 < 60 ms"),
            ("same graph, empty nodes", *_p(bare), ""),
            ("factor", f"{factor:.2f}", "", "<= 2"),
        ],
    )
    parts = table(
        ("part", "per turn", "p50 each", "p95 each"),
        [(name, f"{len(times) / MEASURED:.0f}", *_p(times)) for name, times in spent.items()],
    )
    return f"{whole}\n\n{parts}"


def _p(times: list[float]) -> tuple[str, str]:
    return f"{statistics.median(times):.2f} ms", f"{quantile(times, 0.95):.2f} ms"


async def _timed(work: Awaitable[None]) -> float:
    started = time.perf_counter()
    await work
    return (time.perf_counter() - started) * 1000


@contextmanager
def _timed_nodes() -> Iterator[dict[str, list[float]]]:
    """Times every step of the cycle by its name while the graph is built and run."""
    times: dict[str, list[float]] = defaultdict(list)
    guarded = thought_cycle.run_guarded

    async def timed(step: Any, turn: Any) -> Any:
        started = time.perf_counter()
        try:
            return await guarded(step, turn)
        finally:
            times[_name(step)].append((time.perf_counter() - started) * 1000)

    thought_cycle.run_guarded = timed
    try:
        yield times
    finally:
        thought_cycle.run_guarded = guarded


def _name(step: Any) -> str:
    action = getattr(step, "__self__", None)
    return str(action.name) if action else str(getattr(step, "func", step).__name__)


def _timed_writes(saver: Any) -> dict[str, list[float]]:
    times: dict[str, list[float]] = defaultdict(list)

    def wrap(name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return await call(*args, **kwargs)
            finally:
                times[name].append((time.perf_counter() - started) * 1000)

        return timed

    for name in ("aput", "aput_writes"):
        setattr(saver, name, wrap(name, getattr(saver, name)))
    return times


def _empty_graph(saver: Any) -> Any:
    """The same nodes and edges, each doing nothing but what moves it on and keeps as many messages."""
    graph: Any = StateGraph(State, context_schema=Context)
    order = ["command", "recall", "router", "MemorySearch", "Finish", "remember"]

    async def nothing(state: State) -> dict[str, Any]:
        return {}

    async def first(state: State) -> dict[str, Any]:
        return {"next_action": "MemorySearch"}

    async def searched(state: State) -> dict[str, Any]:
        return {"next_action": "Finish", "messages": [AIMessage("Uma resposta curta de sempre.")]}

    async def finished(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage("Uma resposta curta de sempre.")]}

    async def trimmed(state: State) -> dict[str, Any]:
        return {"messages": [RemoveMessage(id=str(old.id)) for old in state["messages"][:-KEPT]]}

    steps = {"command": first, "MemorySearch": searched, "Finish": finished, "remember": trimmed}
    for name in order:
        graph.add_node(name, steps.get(name, nothing))
    for start, end in ((START, "command"), ("command", "recall"), ("recall", "router")):
        graph.add_edge(start, end)
    graph.add_conditional_edges("router", lambda state: state["next_action"], ["MemorySearch", "Finish"])
    for start, end in (("MemorySearch", "router"), ("Finish", "remember"), ("remember", END)):
        graph.add_edge(start, end)
    return graph.compile(checkpointer=saver)
