"""What a worker does for the database as a whole, and how often."""

from collections.abc import Mapping
from datetime import timedelta

from thoughtcycle.memory.erasing import GRACE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.worker import Kind

SWEEP_EVERY = timedelta(minutes=5)
ERASE_EVERY = timedelta(minutes=1)


def upkeep(memory: Memory, grace: timedelta = GRACE) -> Mapping[str, Kind]:
    """`sweep` closes the cycles that a crash left open; `erase` erases what was deleted `grace` ago."""
    return {
        "sweep": Kind(lambda job: memory.sweep(), every=SWEEP_EVERY),
        "erase": Kind(lambda job: memory.erase_due(grace), every=ERASE_EVERY),
    }
