"""One step's view of a user's garden: state, user and services together."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from langgraph.runtime import Runtime

from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.nodes.context import Context, adapt, of_run
from thoughtcycle.nodes.garden.state import Chore, GardenState, GardenUpdate, Task
from thoughtcycle.nodes.run import Run
from thoughtcycle.nodes.services import Services
from thoughtcycle.prompts.errors import InputRefused, NotAllowed

SHOWN = 200
"""Chores of a kind that are listed; the others are counted."""
CONTENT = 120


@dataclass(frozen=True)
class Garden(Run):
    """What a step may look at and use."""

    state: GardenState

    @property
    def dry(self) -> bool:
        """Whether nothing may change: also where nobody said that it may."""
        return self.state.get("dry_run", True)

    @property
    def now(self) -> datetime:
        """The time to which everything is compared."""
        return self.services.clock()


@contextmanager
def unless_gone() -> Iterator[None]:
    """Passes over a memory that went, or is no longer active, between the look and the write."""
    try:
        yield
    except (InputRefused, NotAllowed) as gone:
        if gone.code not in ("memory_not_active", "memory_unknown"):
            raise


@dataclass
class Log:
    """What a step did, listed up to a point and counted beyond."""

    task: Task
    listed: list[Chore] = field(default_factory=list)
    count: int = 0

    def add(self, record: MemoryRecord, why: str, into: str = "") -> None:
        """Notes one change."""
        self.count += 1
        if len(self.listed) < SHOWN:
            content = " ".join(record.text.split())[:CONTENT]
            self.listed.append(Chore(task=self.task, id=record.id, why=why, content=content, into=into))


def told(logs: Iterable[Log]) -> GardenUpdate:
    """The update that tells of what was done."""
    done = list(logs)
    return {
        "chores": [chore for log in done for chore in log.listed],
        "counts": {log.task: log.count for log in done},
    }


def open_garden(state: GardenState, runtime: Runtime[Context], services: Services) -> Garden:
    """The run as this step sees it; NotAllowed without a user, InputRefused('bad_field')."""
    if not isinstance(state.get("dry_run", True), bool):
        raise InputRefused("bad_field", name="dry_run", expected="true | false")
    return Garden(of_run(runtime, adapt, services.single_user, public=services.public), services, state)
