"""Questions and views for tests of the minds."""

import warnings
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from langchain_core.messages import HumanMessage

from thoughtcycle.mind.base import Question, View
from thoughtcycle.mind.model_settings import ModelRole

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=ZoneInfo("America/Sao_Paulo"))


def view(message: str = "Qual é o meu nome?", **values: Any) -> View:
    """What a mind may see, on a Friday at noon."""
    return View(message, NOON, **values)


def question(
    role: ModelRole, schema: Any = str, by_rules: Callable[[View], Any] = lambda view: None
) -> Question[Any]:
    """A question whose task is a line of the frame."""
    return Question("frame#use_memory", role, schema, by_rules)


async def events_of(graph: Any) -> Any:
    """A run of `graph` in LangGraph's newer event protocol, which warns (once) that it is experimental."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return await graph.astream_events({"messages": [HumanMessage("oi")]}, version="v3")
