"""Closes the cycle durably: one write with reply, steps and the mark that formation is pending."""

from dataclasses import replace

from langchain_core.messages import RemoveMessage
from langgraph.graph import END

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.model import CycleMessage
from thoughtcycle.nodes.base.envelope import enveloped, flagged, role_of
from thoughtcycle.nodes.base.redaction import redacted_state
from thoughtcycle.nodes.base.state import StateUpdate
from thoughtcycle.nodes.base.turn import Turn


async def remember(turn: Turn) -> StateUpdate:
    """Writes the reply as a variant of this execution and lets old messages leave the state.

    What the user had erased for good in this turn, or beside it, leaves the state before it is saved. Raises
    NotAllowed('user_forgotten').
    """
    cycle = turn.state.get("cycle_id")
    before = await turn.memory.erasure.final_mask(
        turn.user
    )  # once the cycle is closed the erasure may be complete
    if cycle and not turn.context.incognito:
        steps = turn.state.get("steps", [])
        command = bool(steps) and steps[0]["action"].startswith("/")
        learned = not command and not turn.state.get("paused")
        await turn.memory.transcript.close_cycle(
            turn.user,
            cycle,
            execution=turn.execution,
            messages=replies(turn),
            steps=steps,
            cut=any(step["status"] == "cut" for step in steps),
            formation="pending" if learned else "none",
            shown=turn.state["briefing"]["shown"] if turn.state.get("briefing") else (),
        )
    told = await turn.outage_notice()
    gone = await turn.memory.erasure.erased_since(turn.user, turn.at)
    if gone is None:
        raise NotAllowed("user_forgotten")
    gone = replace(gone, traces=(*before.traces, *gone.traces))
    left = redacted_state(turn.state, gone) if gone else {}
    return {**left, "messages": [*left.get("messages", ()), *trimmed(turn), *told], "next_action": END}


def replies(turn: Turn) -> list[CycleMessage]:
    """All that was answered to the user's message, in the order in which it was seen."""
    said: list[CycleMessage] = []
    for message in reversed(turn.state["messages"]):
        if role_of(message) == "user":
            break
        if not enveloped(message):
            continue
        said.append(
            CycleMessage(
                id=message.id or turn.execution,
                role=role_of(message),
                text=message.text,
                at=turn.services.clock(),
                chat_history=flagged(message),
            )
        )
    return said[::-1]


def trimmed(turn: Turn) -> list[RemoveMessage]:
    """Removals of what exceeds the state's share of messages; the transcript has them."""
    beyond = turn.state["messages"][: -turn.services.limits.state_messages]
    return [RemoveMessage(id=message.id) for message in beyond if message.id]
