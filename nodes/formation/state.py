"""The state of one run of formation, carried from step to step: ids and small plain JSON."""

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict


class FormationInput(TypedDict):
    """The cycle to understand; empty: the user's oldest that waits."""

    cycle_id: Annotated[
        str,
        Field(
            title="Exchange",
            description="Id of the exchange (cycle) to understand. Empty: the user's oldest that waits.",
            json_schema_extra={"default": ""},
        ),
    ]


class FormationState(FormationInput):
    """The running state."""

    chat: str
    digest: str
    """Of the words that are judged: other words by now (a new reply, a deletion) are judged anew."""
    language: str
    dropped: str | None
    """Why rules alone judge it (SM-2); None: it passed the funnel."""
    judgement: dict[str, Any] | None
    due: Literal["summarise", "compress", "embed"]
    """The step that the conversation memory needs next."""
    done: bool


class FormationOutput(TypedDict):
    """The output of a run."""

    cycle_id: str
    dropped: str | None
    judgement: dict[str, Any] | None
    done: bool


FormationUpdate = dict[str, Any]
"""A step's partial update."""
