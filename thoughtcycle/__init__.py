"""Memory for agents that one can check, and an agent that thinks in a visible loop on it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.factory import open_checkpointer
    from thoughtcycle.graph.thought_cycle import builder, create_thought_cycle
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.memory.model import MemoryDraft, MemoryHit, MemoryRecord, MessageHit, Source
    from thoughtcycle.mind.embeddings import NamedEmbeddings
    from thoughtcycle.mind.lexical import LexicalEmbeddings
    from thoughtcycle.mind.llm import LLMMind
    from thoughtcycle.mind.rules import RuleMind
    from thoughtcycle.nodes.base.context import Context

_HOMES = {
    "Context": "nodes.base.context",
    "LLMMind": "mind.llm",
    "LexicalEmbeddings": "mind.lexical",
    "Memory": "memory.memory",
    "MemoryDraft": "memory.model",
    "MemoryHit": "memory.model",
    "MemoryRecord": "memory.model",
    "MessageHit": "memory.model",
    "NamedEmbeddings": "mind.embeddings",
    "RuleMind": "mind.rules",
    "Source": "memory.model",
    "builder": "graph.thought_cycle",
    "create_thought_cycle": "graph.thought_cycle",
    "open_checkpointer": "checkpoints.factory",
}

__all__ = [
    "Context",
    "LLMMind",
    "LexicalEmbeddings",
    "Memory",
    "MemoryDraft",
    "MemoryHit",
    "MemoryRecord",
    "MessageHit",
    "NamedEmbeddings",
    "RuleMind",
    "Source",
    "builder",
    "create_thought_cycle",
    "open_checkpointer",
]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first asked for: records alone need neither NumPy nor LangGraph."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"thoughtcycle.{_HOMES[name]}"), name)
