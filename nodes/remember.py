"""Closes the cycle durably: one write with reply, steps and the mark that formation is pending."""

from dataclasses import replace

from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.graph import END

from thoughtcycle.errors import NotAllowed
from thoughtcycle.language.intents import forgets_everything
from thoughtcycle.mind.streaming import BEGUN, finish
from thoughtcycle.nodes.actions.memory_delete import unlearn_unformed
from thoughtcycle.nodes.base.cycle import as_cycle_message
from thoughtcycle.nodes.base.redaction import redacted_state
from thoughtcycle.nodes.base.state import StateUpdate
from thoughtcycle.nodes.base.turn import Turn


async def remember(turn: Turn) -> StateUpdate:
    """Writes the reply as a variant of this execution; trims and redacts the state before it is saved.

    Raises NotAllowed('user_forgotten').
    """
    cycle = turn.state.get("cycle_id")
    if _forgets_everything(turn):
        await unlearn_unformed(turn, turn.state.get("cycle_id"))
    before = await turn.memory.erasure.final_mask(turn.user)  # once the cycle is closed erasing may end
    if cycle and not turn.context.incognito:
        steps = turn.state.get("steps", [])
        command = bool(steps) and steps[0]["action"].startswith("/")
        learned = not command and not turn.state.get("paused")
        await turn.memory.transcript.close_cycle(
            turn.user,
            cycle,
            execution=turn.execution,
            messages=[as_cycle_message(reply, turn) for reply in turn.replies()],
            steps=steps,
            cut=any(step["status"] == "cut" for step in steps),
            formation="pending" if learned else "none",
            shown=turn.state["briefing"]["shown"] if turn.state.get("briefing") else (),
        )
    notice = await turn.notices()
    gone = await turn.memory.erasure.hidden_since(turn.user, turn.at)
    if gone is None:
        raise NotAllowed("user_forgotten")
    await turn.memory.erasure.redact_states(turn.user, gone)
    mask = replace(gone, traces=(*before.traces, *gone.traces))
    update = redacted_state(turn.state, mask) if mask else {}
    beyond = turn.state["messages"][: -turn.services.limits.state_messages]
    trimmed = [RemoveMessage(id=message.id) for message in beyond if message.id]
    messages = [*_left_begun(turn), *update.get("messages", ()), *trimmed, *notice]
    return {**update, "messages": messages, "next_action": END}


def _left_begun(turn: Turn) -> list[AIMessage]:
    """The reply that a failure left unfinished."""
    left = (one for one in turn.replies() if isinstance(one, AIMessage) and BEGUN in one.additional_kwargs)
    return [finish(one, chat_history=False) for one in left]


def _forgets_everything(turn: Turn) -> bool:
    """Whether the user asks to forget everything, and a model has neither done it nor asked back."""
    steps = {step["action"] for step in turn.state.get("steps", ())}
    return (
        not steps & {"MemoryDelete", "Question"}
        and not turn.memory.availability.unreadable
        and forgets_everything(turn.message, turn.language, turn.now())
    )
