"""Stores the messages of foreign apps as cycles of the transcript, each once."""

from collections.abc import Sequence

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, CycleMessage


async def open_cycle(
    memory: Memory, user: str, chat: str, said: CycleMessage, *, parent: str | None, channel: str
) -> Cycle:
    """Opens the message's cycle, or returns the chat's last one if it holds this message already.

    `parent`: the cycle before it; None: the chat's last. Raises NotAllowed('chat_of_another').
    """
    if parent is None and not memory.availability.unreadable:
        for last in await memory.conversation(user, chat, limit=1):
            if last.message.id == said.id:
                return last
    follow = parent is None
    return await memory.transcript.open_cycle(user, chat, said, parent=parent, follow=follow, channel=channel)


async def close_cycle(
    memory: Memory,
    user: str,
    cycle: str,
    replies: Sequence[CycleMessage],
    *,
    learned: bool = True,
    shown: tuple[str, ...] = (),
) -> None:
    """Closes the cycle with its replies: the same reply is added once, another one is a variant.

    What is worth remembering is taken from it by a worker, where it may be `learned`. `shown`: ids of the
    memories that were given unasked. Raises NotAllowed('cycle_unknown').
    """
    await memory.transcript.close_cycle(
        user,
        cycle,
        execution=replies[-1].id if replies else cycle,
        messages=replies,
        steps=(),
        formation="pending" if learned else "none",
        shown=shown,
    )
