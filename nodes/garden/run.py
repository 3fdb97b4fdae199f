"""One step's view of a user's garden: state, user and services together."""

from collections.abc import Iterable
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
"""Chores of a kind that are listed; the others are counted."""
CONTENT = 120


@dataclass(frozen=True)
class GardenRun(Run):
    """One run of a garden step: state, user and services."""

    state: GardenState

    @property
    def dry(self) -> bool:
        """Whether nothing may change: also where nobody said that it may."""
        return self.state.get("dry_run", True)

    @property
    def now(self) -> datetime:
        """The time to which everything is compared."""
        return self.services.clock()


@dataclass
class Log:
    """The changes of a step, listed up to a limit and counted beyond."""

    task: Task
    listed: list[Chore] = field(default_factory=list)
    count: int = 0

    def add(self, record: MemoryRecord, why: str, into: str = "") -> None:
        """Notes one change."""
        self.count += 1
        if len(self.listed) < SHOWN:
            content = " ".join(record.text.split())[:CONTENT]
            self.listed.append(Chore(task=self.task, id=record.id, why=why, content=content, into=into))


def garden_update(logs: Iterable[Log]) -> GardenUpdate:
    """The state update that reports the changes."""
    done = list(logs)
    return {
        "chores": [chore for log in done for chore in log.listed],
        "counts": {log.task: log.count for log in done},
    }


def open_garden_run(state: GardenState, runtime: Runtime[Context], services: Services) -> GardenRun:
    """The run as this step sees it; NotAllowed without a user, InputRefused('bad_field')."""
    if not isinstance(state.get("dry_run", True), bool):
        raise InputRefused("bad_field", name="dry_run", expected="true | false")
    return GardenRun(
        context_of_run(runtime, adapt, services.single_user, public=services.public), services, state
    )
