"""Writes that wait for the database: idempotent calls of the transcript with their arguments, as JSON."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from thoughtcycle.memory.model import Cycle, CycleMessage, Frozen, Step


class Waiting(Frozen):
    """The fields of every waiting write."""

    user: str
    at: datetime
    """The time of the call, as of which it is carried out."""


class OpenCycle(Waiting):
    """`Transcript.open_cycle`, with the cycle that was returned."""

    call: Literal["open"] = "open"
    cycle: Cycle
    follow: bool
    """Its parent is the tip of the chat."""
    once: bool = False
    """Skipped if the transcript has a cycle of this message already."""


class Append(Waiting):
    """`Transcript.append`."""

    call: Literal["append"] = "append"
    cycle: str
    execution: str
    step: Step
    text: CycleMessage | None


class CloseCycle(Waiting):
    """`Transcript.close_cycle`."""

    call: Literal["close"] = "close"
    cycle: str
    execution: str
    messages: tuple[CycleMessage, ...]
    steps: tuple[Step, ...]
    cut: bool
    formation: Literal["none", "pending"]
    shown: tuple[str, ...] = ()


Intent = OpenCycle | Append | CloseCycle

_ADAPTER: TypeAdapter[Intent] = TypeAdapter(Annotated[Intent, Field(discriminator="call")])


def loads(text: str) -> Intent:
    """The call in one line of JSON."""
    return _ADAPTER.validate_json(text)


def is_readable(text: str) -> bool:
    """Whether `loads` can read the text; other versions of this program may spool other calls."""
    try:
        loads(text)
    except ValidationError:
        return False
    return True
