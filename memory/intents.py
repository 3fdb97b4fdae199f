"""Writes that wait for the database: the memory's repeatable calls with their arguments, as plain JSON."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter

from thoughtcycle.memory.owners import stored_space
from thoughtcycle.memory.records import Cycle, CycleMessage, Frozen, MemoryDraft, Step


class Waiting(Frozen):
    """What all of them say."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    user: Annotated[str, AfterValidator(stored_space)]
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


class Save(Waiting):
    """`Memory.save`, with the vectors that were at hand."""

    call: Literal["save"] = "save"
    drafts: tuple[MemoryDraft, ...]
    vectors: dict[str, bytes]
    model: str | None
    """Name of the embedding model that made them."""


class Update(Waiting):
    """`Memory.update`."""

    call: Literal["update"] = "update"
    id: str
    content: Any
    bindings: tuple[str, ...] | None
    key: str | None = None
    correction: bool
    cycle: str | None
    words: str
    said: datetime | None = None


class Hide(Waiting):
    """`Memory.hide`."""

    call: Literal["hide"] = "hide"
    ids: tuple[str, ...]
    reason: str
    cycle: str | None


Intent = OpenCycle | Append | CloseCycle | Save | Update | Hide

_ADAPTER: TypeAdapter[Intent] = TypeAdapter(Annotated[Intent, Field(discriminator="call")])


def dumps(intent: Intent) -> str:
    """One line of JSON."""
    return intent.model_dump_json()


def loads(text: str) -> Intent:
    """What `dumps` was given."""
    return _ADAPTER.validate_json(text)
