"""Hides internal details of errors from clients of a public server."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from thoughtcycle.errors import ThoughtcycleError, Unexpected
from thoughtcycle.nodes.base.services import Services

log = logging.getLogger(__name__)


@contextmanager
def hide_internal_errors(runtime: Runtime[Any], services: Services) -> Iterator[None]:
    """Fails the run as Unexpected for a fault of ours, on a server with authentication; logs all of it.

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
