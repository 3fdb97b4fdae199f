"""The rules of memory, one subject per module (pure)."""

from thoughtcycle.memory.rules import (
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
