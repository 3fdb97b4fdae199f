"""Export, import, backup."""

from thoughtcycle.memory.transfer.backup import backup, restore
from thoughtcycle.memory.transfer.export import Export
from thoughtcycle.memory.transfer.format import encoded
from thoughtcycle.memory.transfer.import_own import Imported
from thoughtcycle.memory.transfer.service import Import

__all__ = ["Export", "Import", "Imported", "backup", "encoded", "restore"]
