"""The drawing of the thought cycle, as Studio and README show it."""

from thoughtcycle.graph.settings import load_settings
from thoughtcycle.graph.thought_cycle import builder, compile_cycle
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.services import Services


def drawing() -> str:
    """Mermaid text with every enabled action and every edge; nothing is opened for it."""

    async def nothing() -> Services:
        raise RuntimeError("a drawing is not run")

    return (
        compile_cycle(builder(nothing, actions=discover(load_settings().disabled_actions)))
        .get_graph()
        .draw_mermaid()
    )
