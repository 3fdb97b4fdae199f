"""Who calls a door and how it was set up: the user comes from the run, never from a model or a message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from thoughtcycle.memory.zones import check_time_zone
from thoughtcycle.nodes.context import Context, ContextSource, RunInfo, adapt, of_run
from thoughtcycle.nodes.limits import Limits
from thoughtcycle.nodes.redaction import MARK
from thoughtcycle.prompts.errors import NotAllowed
from thoughtcycle.prompts.loader import Language


@dataclass(frozen=True)
class Setup:
    """What the doors of one app have in common."""

    context: ContextSource = adapt
    """Makes our Context out of what the app gives as `context=`; by default attributes of the same names."""
    single_user: str | None = None
    """The user of runs that name none; None: they are refused."""
    language: Language = "pt"
    """Where neither run nor user nor message shows another."""
    time_zone: str = "UTC"
    """Of users who have set none."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        check_time_zone(self.time_zone)

    def caller(self, run: RunInfo, state: Any) -> Context:
        """The checked context of a run; a server's authenticated user counts before any other.

        Raises NotAllowed without a user, and in the thread of another one: a run may be resumed.
        """
        context = of_run(run, self.context, self.single_user)
        mark = state_value(state, MARK)
        if isinstance(mark, Mapping) and mark.get("user_id") != context.user_id:
            raise NotAllowed("chat_of_another")
        return context


def state_value(state: Any, key: str) -> Any:
    """What the state of somebody else's graph holds under `key`; None without it."""
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def messages_of(state: Any) -> Sequence[BaseMessage]:
    """The messages of somebody else's graph: its state, or what it has under the usual key."""
    found = state if isinstance(state, list) else state_value(state, "messages")
    return [each for each in found or () if isinstance(each, BaseMessage)]
