"""Checks, repairs and upkeep of a database."""

from thoughtcycle.memory.maintenance.doctor import Maintenance
from thoughtcycle.memory.maintenance.document_checkup import cycles_of
from thoughtcycle.memory.maintenance.reembed import Reembedding

__all__ = ["Maintenance", "Reembedding", "cycles_of"]
