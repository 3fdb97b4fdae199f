"""Text analysis, one subject per module (pure)."""

from thoughtcycle.memory.text import analyzer, labels, secrets, similarity, spans

__all__ = ["analyzer", "labels", "secrets", "similarity", "spans"]
