"""The state of a thread, carried from step to step: small, plain JSON, no vectors, no documents."""

from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from pydantic import Field
from typing_extensions import TypedDict

from thoughtcycle.memory.model import Recalled, Step, Utterance
from thoughtcycle.mind.tool_calls import Call


class InputState(TypedDict):
    """The input of a run: the user's message."""

    messages: Annotated[
        list[AnyMessage],
        Field(
            title="Messages",
            description="What the user says now, as one human message. Earlier ones are known already.",
        ),
        add_messages,
    ]


class BriefSection(TypedDict):
    """The account of one section of the briefing."""

    section: str
    shown: list[tuple[str, float, str]]
    """Id, score and source (`memory`, `profile`, `cycle`, `message`, `conversation`) of each item."""
    left_out: int
    tokens: int


class Briefing(TypedDict):
    """The memory block of this turn and its account (BY-7)."""

    text: str
    """Long-term memory."""
    session: NotRequired[str]
    """The sections about this conversation."""
    shown: list[str]
    """Ids of the memories in it."""
    left_out: int
    tokens: int
    sections: NotRequired[list[BriefSection]]


class Attached(TypedDict):
    """A file of the message of this turn."""

    id: str | None
    """Of its memory; None where it was not kept."""
    name: str
    text: str
    """The beginning of its text."""
    cut: bool
    """Whether there is more."""


class Spent(TypedDict):
    """Tokens of one model call of a turn."""

    role: str
    model: str
    input: int
    output: int


class State(InputState):
    """The thread's state. `messages` holds dialogue only."""

    cycle_id: str | None
    """The running cycle, else the last one: the tip of this branch. None until the cycle is opened."""
    parent: str | None
    """The tip of this branch when the turn began."""
    at: str
    """When the message of this turn came in, ISO 8601."""
    chat_id: str
    user_id: str
    """The owner of the thread: nobody else may go on with it."""
    language: str
    """The language of this turn."""
    spoken: str | None
    """The language of the last message that was no command; None before any."""
    time_zone: str
    """The IANA zone in which its relative dates are read."""
    window: list[Utterance]
    """The recent messages before this turn, as prompts may show them."""
    steps: list[Step]
    """The steps of this cycle; reset at each user message."""
    usage: list[Spent]
    """Tokens of the model calls of this cycle; reset at each user message."""
    next_action: str
    calls: list[Call]
    """The actions that a model has called and that wait for their turn; the first is the next."""
    reply_id: str | None
    """Id of the one message of the reply where a model decides with tools; None before its first call."""
    recalled: list[Recalled]
    """Memories that this thread has seen and may therefore change."""
    briefing: Briefing
    attached: list[Attached]
    """The files of the user's message."""
    paused: bool
    """The user has paused: nothing is learned from this cycle."""
    failure: str | None
    """Set when a step could not go on: the cycle ends."""
    remaining_steps: RemainingSteps


class OutputState(InputState):
    """The output of a run."""

    steps: list[Step]
    recalled: list[Recalled]


RECALL, REMEMBER = "recall", "remember"
"""Values of `next_action` beside the names of actions and LangGraph's END."""

StateUpdate = dict[str, Any]
"""A node's partial update; LangGraph drops unknown keys silently, so a test compares them with State."""
