"""The life of memory records: save, update, pin, merge, archive, undo."""

from thoughtcycle.memory.records.browse import RecordPage, browse
from thoughtcycle.memory.records.lifecycle import Lifecycle
from thoughtcycle.memory.records.service import Records
from thoughtcycle.memory.records.upkeep import PAGE, RecordUpkeep

__all__ = ["PAGE", "Lifecycle", "RecordPage", "RecordUpkeep", "Records", "browse"]
