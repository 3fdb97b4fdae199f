"""The drawings of the graphs, as Studio and the documents show them."""

from collections.abc import Callable
from typing import Literal, get_args

from thoughtcycle.graph import formation, garden
from thoughtcycle.graph.thought_cycle import builder, compile_cycle
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.settings import load_settings

Name = Literal["thought_cycle", "formation", "garden"]
NAMES: tuple[Name, ...] = get_args(Name)


def drawing(name: Name = "thought_cycle") -> str:
    """Mermaid text with every step and every edge; nothing is opened for it."""
    return _DRAWINGS[name]()


async def _nothing() -> Services:
    raise RuntimeError("a drawing is not run")


def _thought_cycle() -> str:
    actions = discover(load_settings().disabled_actions)
    return compile_cycle(builder(_nothing, actions=actions)).get_graph().draw_mermaid()


_DRAWINGS: dict[Name, Callable[[], str]] = {
    "thought_cycle": _thought_cycle,
    "formation": lambda: formation.builder(_nothing).compile().get_graph().draw_mermaid(),
    "garden": lambda: garden.builder(_nothing).compile().get_graph().draw_mermaid(),
}
