"""The memory: records, search, briefing, erasure; imports neither LangGraph nor a model."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.memory.model import MemoryDraft, MemoryHit, MemoryRecord, MessageHit, Source

__all__ = ["Memory", "MemoryDraft", "MemoryHit", "MemoryRecord", "MessageHit", "Source"]


def __getattr__(name: str) -> Any:
    """Imports the engine only when it is asked for: records alone need no NumPy."""
    if name == "Memory":
        from thoughtcycle.memory.memory import Memory

        return Memory
    if name in __all__:
        from thoughtcycle.memory import model

        return getattr(model, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
