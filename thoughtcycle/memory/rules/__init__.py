"""The rules of memory, one subject per module (pure)."""

from thoughtcycle.memory.rules import (
    completion,
    compression,
    decay,
    layer_rules,
    preserved_data,
    profile,
    relevance_filter,
    rendering,
    window,
    word_budget,
)

__all__ = [
    "completion",
    "compression",
    "decay",
    "layer_rules",
    "preserved_data",
    "profile",
    "relevance_filter",
    "rendering",
    "window",
    "word_budget",
]
