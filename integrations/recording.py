"""Keeps what is said in an app of somebody else's as cycles of the transcript, each message once."""

from collections.abc import Sequence

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import Cycle, CycleMessage


async def opened(
    memory: Memory, user: str, chat: str, said: CycleMessage, *, parent: str | None, channel: str
) -> Cycle:
    """The cycle of this message: the chat's last one where that is it already, else a new one.

    `parent`: the cycle before it; None: the chat's last. Raises NotAllowed('chat_of_another').
    """
    if parent is None and not memory.unreadable:
        for last in await memory.conversation(user, chat, limit=1):
            if last.message.id == said.id:
                return last
    follow = parent is None
    return await memory.open_cycle(user, chat, said, parent=parent, follow=follow, channel=channel)


async def closed(
    memory: Memory,
    user: str,
    cycle: str,
    replies: Sequence[CycleMessage],
    *,
    learned: bool = True,
    shown: tuple[str, ...] = (),
) -> None:
    """Adds the reply; the same reply is added once, another one is a variant.

    What is worth remembering is taken from it by a worker, where it may be `learned`. `shown`: ids of the
    memories that were given unasked. Raises NotAllowed('cycle_unknown').
    """
    await memory.close_cycle(
        user,
        cycle,
        execution=replies[-1].id if replies else cycle,
        messages=replies,
        steps=(),
        formation="pending" if learned else "none",
        shown=shown,
    )
