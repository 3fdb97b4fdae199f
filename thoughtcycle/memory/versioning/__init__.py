"""Changes of memories and cycles as journalled writes, one subject per module (pure)."""

from thoughtcycle.memory.versioning import branches, cycle_transitions, merge, record_writes, undo

__all__ = ["branches", "cycle_transitions", "merge", "record_writes", "undo"]
