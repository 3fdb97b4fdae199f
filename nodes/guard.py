"""The one boundary of the cycle: a failure that a person can read ends the turn politely."""

import logging
from collections.abc import Awaitable, Callable

from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.command import REMEMBER
from thoughtcycle.nodes.state import StateUpdate
from thoughtcycle.nodes.turn import Turn
from thoughtcycle.prompts.errors import NotAllowed, ThoughtcycleError

log = logging.getLogger(__name__)

Step = Callable[[Turn], Awaitable[StateUpdate]]


async def guarded(step: Step, turn: Turn) -> StateUpdate:
    """Runs a step. What the user may not do fails the run; any other known failure is said in one line.

    After a failure the router makes no further decision: the cycle is closed with what was said.
    """
    try:
        return await step(turn)
    except NotAllowed:
        raise
    except ThoughtcycleError as failure:
        log.warning("turn ended: %s", failure.code)
        if turn.state.get("failure"):
            return {"next_action": REMEMBER}
        said = await speak(failure.text(turn.language), chat_history=False)
        return {"messages": [said], "failure": failure.code, "next_action": REMEMBER}
