"""Caller and settings of an adapter: the user comes from the run, never from a model or a message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.model import check_time_zone
from thoughtcycle.nodes.base.context import Context, ContextSource, RunInfo, adapt, context_of_run
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.redaction import MARK
from thoughtcycle.prompts.loader import Language


@dataclass(frozen=True)
class Setup:
    """The settings that all adapters of one app share."""

    context: ContextSource = adapt
    """Converts the app's `context=` to our Context; by default by attributes of the same names."""
    single_user: str | None = None
    """The user of runs that name none; None: they are refused."""
    language: Language = "pt"
    """The language where neither run nor user nor message shows another."""
    time_zone: str = "UTC"
    """The time zone of users without one."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        check_time_zone(self.time_zone)

    def caller(self, run: RunInfo, state: Any) -> Context:
        """The checked context of a run; a server's authenticated user counts before any other.

        Raises NotAllowed without a user, and in the thread of another one: a run may be resumed.
        """
        context = context_of_run(run, self.context, self.single_user)
        mark = state_value(state, MARK)
        if isinstance(mark, Mapping) and mark.get("user_id") != context.user_id:
            raise NotAllowed("chat_of_another")
        return context


def state_value(state: Any, key: str) -> Any:
    """The value under `key` in a foreign graph's state; None without it."""
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def messages_of(state: Any) -> Sequence[BaseMessage]:
    """The messages of a foreign graph: its state, or the state's `messages`."""
    found = state if isinstance(state, list) else state_value(state, "messages")
    return [each for each in found or () if isinstance(each, BaseMessage)]
