"""Where a run takes place: its thread, the graphs around the running one, and whether its state is kept."""

from datetime import datetime
from typing import NamedTuple

from langgraph.config import get_config

CHECKPOINTER = "__pregel_checkpointer"
"""Key under which LangGraph tells a node what saves its run, if anything does; it has no public name."""


class Place(NamedTuple):
    """The place of a running node."""

    thread: str | None
    around: tuple[str, ...]
    """Names of the graphs around this one, outermost first."""
    kept: bool
    """Whether this graph's state survives the run."""

    @property
    def chat(self) -> str | None:
        """The chat: the thread's id, and the path to an embedded graph in it; None without a thread."""
        return "/".join([self.thread, *self.around]) if self.thread else None


def place() -> Place:
    """That of the node which is running now.

    A namespace is `outer:task|inner:task|node:task`: the last part is the node itself, and a part
    without a task id belongs to a subgraph compiled with its own persistent state.
    """
    configurable = get_config().get("configurable", {})
    thread = configurable.get("thread_id")
    *around, _ = str(configurable.get("checkpoint_ns", "")).split("|")
    saved = configurable.get(CHECKPOINTER) is not None
    persistent = bool(thread) and saved and not any(":" in part for part in around)
    return Place(str(thread) if thread else None, tuple(part.split(":")[0] for part in around), persistent)


def announce(user: str, at: datetime) -> None:
    """Tells a saver of ours whose turn, begun at `at`, runs in the thread: not every state says so."""
    configurable = get_config().get("configurable", {})
    late, thread = getattr(configurable.get(CHECKPOINTER), "late", None), configurable.get("thread_id")
    if late is not None and thread:
        late.begun(str(thread), user, at)
