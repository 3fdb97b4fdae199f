"""What a worker does for the database as a whole, and how often."""

from collections.abc import Mapping
from datetime import timedelta

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.worker import Kind

SWEEP_EVERY = timedelta(minutes=5)


def upkeep(memory: Memory) -> Mapping[str, Kind]:
    """`sweep` closes the cycles that a crash left open."""
    return {"sweep": Kind(lambda job: memory.sweep(), every=SWEEP_EVERY)}
