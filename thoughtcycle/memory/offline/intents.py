"""Writes that wait for the database: the transcript's repeatable calls and their arguments, as JSON."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from thoughtcycle.memory.model import Cycle, CycleMessage, Frozen, Step


class Waiting(Frozen):
    """The fields of every call."""

    user: str
    at: datetime
    """When it was asked for: it is carried out as of then."""


class OpenCycle(Waiting):
    """`Memory.open_cycle`: the cycle as it was promised."""

    call: Literal["open"] = "open"
    cycle: Cycle
    follow: bool
    """Its parent is the end of the chat's live branch."""
    once: bool = False
    """Only where the transcript has no cycle of this message yet."""


class Append(Waiting):
    """`Memory.append`."""

    call: Literal["append"] = "append"
    cycle: str
    execution: str
    step: Step
    text: CycleMessage | None


class CloseCycle(Waiting):
    """`Memory.close_cycle`."""

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


def dumps(intent: Intent) -> str:
    """One line of JSON."""
    return intent.model_dump_json()


def loads(text: str) -> Intent:
    """The call that `dumps` was given."""
    return _ADAPTER.validate_json(text)


def known(text: str) -> bool:
    """Whether `loads` can read it: other versions of this program let other calls wait."""
    try:
        loads(text)
    except ValidationError:
        return False
    return True
