"""The LangGraph thread of the running node: its id, the outer graphs, and whether its state is stored."""

from datetime import datetime
from typing import NamedTuple

from langgraph.config import get_config

CHECKPOINTER = "__pregel_checkpointer"
"""LangGraph's key of the saver in a node's configuration; it has no public name."""


class RunThread(NamedTuple):
    """The thread of a running node, and the path of graphs in it."""

    thread: str | None
    around: tuple[str, ...]
    """Names of the outer graphs, outermost first."""
    kept: bool
    """Whether this graph's state survives the run."""
    new: bool
    """Whether the run is at the first step of a thread without any checkpoint; a fork begins later."""

    @property
    def chat(self) -> str | None:
        """The chat: the thread's id, and the path to an embedded graph in it; None without a thread."""
        return "/".join([self.thread, *self.around]) if self.thread else None


def running_thread() -> RunThread:
    """The thread of the node that is running now.

    A namespace is `outer:task|inner:task|node:task`: the last part is the node itself, and a part
    without a task id belongs to a subgraph compiled with its own persistent state.
    """
    config = get_config()
    configurable, first = (
        config.get("configurable", {}),
        config.get("metadata", {}).get("langgraph_step") == 1,
    )
    thread = configurable.get("thread_id")
    *around, _ = str(configurable.get("checkpoint_ns", "")).split("|")
    saved = configurable.get(CHECKPOINTER) is not None
    kept = bool(thread) and saved and not any(":" in part for part in around)
    path = tuple(part.split(":")[0] for part in around)
    return RunThread(str(thread) if thread else None, path, kept, kept and first)


def announce_turn(user: str, at: datetime) -> None:
    """Notes the running turn of `user`, begun at `at`, in our saver: not every state holds both."""
    configurable = get_config().get("configurable", {})
    late, thread = getattr(configurable.get(CHECKPOINTER), "late", None), configurable.get("thread_id")
    if late is not None and thread:
        late.note_turn(str(thread), user, at)
