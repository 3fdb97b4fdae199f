"""The state of one run of the garden, carried from step to step: the changes, in plain JSON."""

import operator
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

Task = Literal["merge", "archive", "prioritise", "condense"]


class Chore(TypedDict):
    """One change; only planned in a dry run."""

    task: Task
    id: str
    why: str
    """A section of the garden's texts that says why."""
    content: str
    """The memory, shortened."""
    into: str
    """The result: the text of the broader memory, the shorter text or the new priority."""


class GardenInput(TypedDict):
    """The input of a run."""

    dry_run: Annotated[
        bool,
        Field(
            title="Dry run",
            description="Only tell what would be merged, archived and shortened, and why; change nothing.",
            json_schema_extra={"default": True},
        ),
    ]


class GardenState(GardenInput):
    """The running state."""

    chores: Annotated[list[Chore], operator.add]
    """The first of each kind; `counts` has all."""
    counts: Annotated[dict[str, int], operator.or_]


class GardenOutput(TypedDict):
    """The output of a run."""

    chores: list[Chore]
    counts: dict[str, int]


GardenUpdate = dict[str, Any]
"""A step's partial update."""
