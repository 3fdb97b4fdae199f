"""Opening a cycle of the transcript: shared by the cycle proper and by commands."""

from thoughtcycle.memory.model import Cycle, CycleMessage
from thoughtcycle.nodes.base.message import user_message
from thoughtcycle.nodes.base.turn import Turn


async def open_cycle(turn: Turn) -> Cycle | None:
    """The durable record of this exchange; None in incognito, where nothing is written.

    Its parent is the tip of the thread's own branch, where its state is kept; else the chat's.
    """
    if turn.context.incognito:
        return None
    message = user_message(turn.state["messages"])
    said = CycleMessage(
        id=message.id or turn.execution,
        role="user",
        text=message.text,
        at=turn.now(),  # with its zone: whoever reads "tomorrow" in it later reads it as it was meant
        name=message.name,
    )
    return await turn.memory.transcript.open_cycle(
        turn.user,
        turn.chat,
        said,
        parent=turn.state.get("parent"),
        follow=not turn.kept,
        channel=turn.context.channel,
    )


async def exchange_before(turn: Turn) -> Cycle | None:
    """The exchange before this message; None at the beginning, and in incognito, where none is kept."""
    if turn.context.incognito:
        return None
    tip = turn.state.get("parent") if turn.kept else None
    cycles = await turn.memory.conversation(turn.user, turn.chat, limit=1, tip=tip)
    return cycles[-1] if cycles else None
