"""Brings deletion into the threads' states: masked when read, redacted when erased for good."""

from collections.abc import Sequence

from langgraph.checkpoint.base import BaseCheckpointSaver

from thoughtcycle.memory.masking import NOTHING, Mask
from thoughtcycle.memory.memory import Memory
from thoughtcycle.prompts.errors import StorageFailed


def bound(memory: Memory, saver: BaseCheckpointSaver[str]) -> None:
    """Has `saver` (one of ours) read states without hidden words, and redacted by every erasure of `memory`.

    Nothing happens to another kind of saver: its states are out of reach.
    """
    redact = getattr(saver, "aredact", None)
    if redact is None:
        return

    async def place(user: str, chats: Sequence[str], mask: Mask) -> int:
        threads = dict.fromkeys(thread for chat in chats for thread in threads_of(chat))
        return sum([await redact(thread, mask) for thread in threads])

    async def masks(user: str) -> Mask:
        try:
            return await memory.mask(user)
        except StorageFailed as failure:
            if not memory.lost(failure):
                raise
            return NOTHING  # nothing of an old state is shown in a turn without memory

    saver.masks = masks  # type: ignore[attr-defined]
    memory.erase_also(place)


def threads_of(chat: str) -> list[str]:
    """The threads that a chat may belong to: it is named by its thread and the graphs around it."""
    parts = chat.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
