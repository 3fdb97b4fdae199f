"""Shared parts of all services: unit of work, counters, caches, job queue, worker."""

from thoughtcycle.memory.core.availability import Availability, explicit
from thoughtcycle.memory.core.core import EMBED, Core, owned
from thoughtcycle.memory.core.worker import Kind, OnOutcome, Worker

__all__ = ["EMBED", "Availability", "Core", "Kind", "OnOutcome", "Worker", "explicit", "owned"]
