"""What strangers may read of a failure: nothing that names places, models, settings or code."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from thoughtcycle.nodes.services import Services
from thoughtcycle.prompts.errors import ThoughtcycleError, Unexpected

log = logging.getLogger(__name__)


@contextmanager
def sealed(runtime: Runtime[Any], services: Services) -> Iterator[None]:
    """On a server with authentication a fault of ours fails the run as Unexpected; the log has all of it.

    LangGraph's server sends the text of Python's own exceptions to the client as it is.
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
