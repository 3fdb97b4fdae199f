"""The one boundary of the cycle: a failure that a person can read ends the turn politely."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from langgraph.types import StreamWriter

from thoughtcycle.errors import InputRefused, NotAllowed, ThoughtcycleError
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.base.envelope import wire
from thoughtcycle.nodes.base.state import REMEMBER, StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.prompts.loader import Language

log = logging.getLogger(__name__)

Step = Callable[[Turn], Awaitable[StateUpdate]]


@contextmanager
def report_refusals(write: StreamWriter, language: Language) -> Iterator[None]:
    """Says why a run is refused before it fails: a server passes on no more than the exception's name."""
    try:
        yield
    except (InputRefused, NotAllowed) as refusal:
        write(wire(refusal.text(language), role="system"))
        raise


async def run_guarded(step: Step, turn: Turn) -> StateUpdate:
    """Runs a step. What the user may not do fails the run; any other known failure is said in one line.

    After a failure the router makes no further decision: the cycle is closed with what was said.
    """
    try:
        return await step(turn)
    except NotAllowed:
        raise
    except ThoughtcycleError as failure:
        learned = bool(turn.state.get("cycle_id")) and not turn.state.get("paused")
        failure = turn.outage_in_words(failure, kept=learned)
        log.warning("turn ended: %s", failure.code)
        if turn.state.get("failure"):
            return {"next_action": REMEMBER}
        said = await speak(turn.line(failure), chat_history=False)
        return {"messages": [said], "failure": failure.code, "next_action": REMEMBER}
