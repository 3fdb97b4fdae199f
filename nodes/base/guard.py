"""The error boundary of a step: failures end the turn in one clear line, or fail the run."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter

from thoughtcycle.errors import InputRefused, NotAllowed, ThoughtcycleError, Unexpected
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.base.envelope import wire
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.nodes.base.state import REMEMBER, StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.prompts.loader import Language

log = logging.getLogger(__name__)

Step = Callable[[Turn], Awaitable[StateUpdate]]


@contextmanager
def hide_internal_errors(runtime: Runtime[Any], services: Services) -> Iterator[None]:
    """On a public server, turns unexpected exceptions into Unexpected and logs them.

    LangGraph's server sends the text of Python's own exceptions to the client.
    """
    try:
        yield
    except (ThoughtcycleError, GraphBubbleUp):
        raise
    except Exception as fault:
        if not services.public or runtime.server_info is None:
            raise
        log.exception("a step failed")
        raise Unexpected("unexpected") from fault


@contextmanager
def report_refusals(write: StreamWriter, language: Language) -> Iterator[None]:
    """Streams the reason of a refusal: of a failed run a server sends only the exception's name."""
    try:
        yield
    except (InputRefused, NotAllowed) as refusal:
        write(wire(refusal.text(language), role="system"))
        raise


async def run_guarded(step: Step, turn: Turn) -> StateUpdate:
    """Runs a step. NotAllowed fails the run; any other known failure becomes a line of the reply.

    After a failure the router makes no further decision: the cycle is closed.
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
