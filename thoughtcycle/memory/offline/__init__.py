"""Outage: writes of turns wait in a local spool while the database is away."""

from thoughtcycle.memory.offline.outage import Outage, SpooledTranscript
from thoughtcycle.memory.offline.spool import SPOOL_BYTES, database_name

__all__ = ["SPOOL_BYTES", "Outage", "SpooledTranscript", "database_name"]
