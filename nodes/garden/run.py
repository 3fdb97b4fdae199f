"""One run of a garden step: state, user and services together; the log of its changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from langgraph.runtime import Runtime

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.nodes.base.context import Context, adapt, context_of_run
from thoughtcycle.nodes.base.run import Run
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.nodes.garden.state import Chore, GardenState, GardenUpdate, Task

SHOWN = 200
"""Chores of a kind that are listed; others are only counted."""
CONTENT = 120


@dataclass(frozen=True)
class GardenRun(Run):
    """One run of a garden step: state, user and services."""

    state: GardenState

    @property
    def dry(self) -> bool:
        """Whether nothing may change; the default."""
        return self.state.get("dry_run", True)

    @property
    def now(self) -> datetime:
        """The current time of the deployment's clock."""
        return self.services.clock()


@dataclass
class Log:
    """The changes of a step, listed up to a limit and counted beyond."""

    task: Task
    listed: list[Chore] = field(default_factory=list)
    count: int = 0

    def add(self, record: MemoryRecord, why: str, into: str = "") -> None:
        """Adds a change."""
        self.count += 1
        if len(self.listed) < SHOWN:
            content = " ".join(record.text.split())[:CONTENT]
            self.listed.append(Chore(task=self.task, id=record.id, why=why, content=content, into=into))


def garden_update(logs: Sequence[Log]) -> GardenUpdate:
    """The state update that reports the changes."""
    chores = [chore for log in logs for chore in log.listed]
    return {"chores": chores, "counts": {log.task: log.count for log in logs}}


def open_garden_run(state: GardenState, runtime: Runtime[Context], services: Services) -> GardenRun:
    """The run of a step. Raises NotAllowed without a user, InputRefused('bad_field')."""
    if not isinstance(state.get("dry_run", True), bool):
        raise InputRefused("bad_field", name="dry_run", expected="true | false")
    context = context_of_run(runtime, adapt, services.single_user, public=services.public)
    return GardenRun(context, services, state)
