"""The StateGraphs: the order of the steps, nothing else."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thoughtcycle.graph.thought_cycle import builder, create_thought_cycle

__all__ = ["builder", "create_thought_cycle"]


def __getattr__(name: str) -> Any:
    """Imports LangGraph only when a graph is asked for."""
    if name in __all__:
        from thoughtcycle.graph import thought_cycle

        return getattr(thought_cycle, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
