"""The turn's cycle in the transcript: opens it, converts its messages, finds the one before."""

from langchain_core.messages import AIMessage, BaseMessage

from thoughtcycle.memory.model import Cycle, CycleMessage, Step
from thoughtcycle.nodes.base.envelope import in_history, role_of
from thoughtcycle.nodes.base.message import user_message
from thoughtcycle.nodes.base.state import REMEMBER, StateUpdate
from thoughtcycle.nodes.base.turn import Turn


async def open_cycle(turn: Turn) -> Cycle | None:
    """Stores the cycle of this turn; None in incognito, where nothing is written.

    Its parent is the tip of the thread's branch where the thread's state is stored, else the chat's tip.
    """
    if turn.context.incognito:
        return None
    message = user_message(turn.state["messages"])
    said = CycleMessage(
        id=message.id or turn.execution,
        role="user",
        text=message.text,
        at=turn.now(),  # with its zone, in which "tomorrow" is read later
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


async def known_tip(turn: Turn) -> str | None:
    """The last cycle of a chat that the transcript knows and the new thread does not; else None."""
    if not turn.new_thread:
        return None
    known = await turn.memory.availability.read(lambda: turn.memory.chat(turn.user, turn.chat), None)
    return known.tip if known else None


def as_cycle_message(message: BaseMessage, turn: Turn) -> CycleMessage:
    """A reply as the transcript stores it."""
    return CycleMessage(
        id=message.id or turn.execution,
        role=role_of(message),
        text=message.text,
        at=turn.services.clock(),
        chat_history=in_history(message),
    )


async def exchange_before(turn: Turn) -> Cycle | None:
    """The cycle before this message; None at the beginning and in incognito."""
    if turn.context.incognito:
        return None
    tip = turn.state.get("parent") if turn.kept else None
    cycles = await turn.memory.conversation(turn.user, turn.chat, limit=1, tip=tip)
    return cycles[-1] if cycles else None


def answered(cycle: Cycle | None, reply: AIMessage, step: Step) -> StateUpdate:
    """The update of a turn that one step has answered: no decision follows."""
    id = cycle.id if cycle else None
    return {"messages": [reply], "cycle_id": id, "steps": [step], "next_action": REMEMBER}
