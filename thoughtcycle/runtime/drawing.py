"""The drawings of the graphs, as Studio and the documents show them."""

from typing import Literal, get_args

from thoughtcycle.graph import formation, garden
from thoughtcycle.graph.thought_cycle import builder
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.settings import load_settings

Name = Literal["thought_cycle", "formation", "garden"]
NAMES: tuple[Name, ...] = get_args(Name)


def drawing(name: Name = "thought_cycle") -> str:
    """Mermaid text with every step and every edge; opens no services."""

    async def none() -> Services:
        raise RuntimeError("a drawing is not run")

    if name == "formation":
        return formation.builder(none).compile().get_graph().draw_mermaid()
    if name == "garden":
        return garden.builder(none).compile().get_graph().draw_mermaid()
    actions = discover(load_settings().disabled_actions)
    return builder(none, actions=actions).compile().get_graph().draw_mermaid()
