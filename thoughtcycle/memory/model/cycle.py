"""Records of the transcript: cycles with their messages, steps and replies, chats, and links to channels."""

from datetime import datetime
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from thoughtcycle.memory.model.base import Frozen, Role
from thoughtcycle.memory.model.judgement import Judgement, LayerMark


class Step(TypedDict):
    """The result of one action of the running cycle; plain JSON, because it is part of the graph's state."""

    action: str
    input: Any
    outcome: str
    """A short sentence for the router and the reply; never the content of what was erased."""
    status: Literal["done", "repeated", "nothing", "refused", "cut", "asked"]
    """`asked`: nothing was deleted; the user is asked first whether to."""
    found: NotRequired[list[str]]
    """Ids of the memories that this step found, wrote, deleted or asks to delete."""
    about: NotRequired[list[str]]
    """Topics of the memories that this step deleted or asks to delete (`*`: all); never the content."""
    final: NotRequired[bool]
    """Whether this step erases for good, or asks to."""
    tokens: NotRequired[int]
    left_out: NotRequired[list[str]]
    """Why items of a model's answer were left out: places and reasons, no word of them."""
    by: NotRequired[Literal["rules"]]
    """`rules`: they gave the input, because no answer of the model could be read."""


class Utterance(TypedDict):
    """One text of the recent history as a prompt needs it."""

    role: Role
    content: str
    chat_history: bool


class CycleMessage(Frozen):
    """One text of a cycle, as the user saw it."""

    id: str
    role: Role
    text: str
    at: datetime
    chat_history: bool = True
    name: str | None = None


class Variant(Frozen):
    """One complete reply to the user's message; regenerating adds another."""

    execution: str
    """Checkpoint id of the execution that closed it: the same on a crash-retry, new on a fork."""
    messages: tuple[CycleMessage, ...]
    steps: tuple[Step, ...]
    at: datetime
    cut: bool = False
    shown: tuple[str, ...] = ()
    """Ids of the memories in the briefing that the model was given."""


class Cycle(Frozen):
    """An exchange: the user's message and all that was answered to it."""

    id: str
    user: str
    chat: str
    channel: str
    parent: str | None
    """The cycle before this one on its branch."""
    message: CycleMessage
    opened_at: datetime
    heartbeat: datetime
    progress: tuple[tuple[str, Step, CycleMessage | None], ...] = ()
    """Results of the running execution so far: (execution, step, text). Emptied on closing."""
    variants: tuple[Variant, ...] = ()
    formation: Literal["none", "pending", "done", "failed"] | None = None
    """None while the cycle is open; `none`: nothing is learned from it; `failed`: formation gave up."""
    judgement: Judgement | None = None
    """None until formation has judged the exchange with its newest reply."""
    marks: tuple[LayerMark, ...] = ()
    """The layers of the exchange, each with its expiry (LM-6)."""
    late: bool = False
    """It was replayed after an outage: the state of its thread may lack it."""

    @property
    def closed(self) -> bool:
        """Whether the cycle has a complete reply."""
        return self.formation is not None

    @property
    def replies(self) -> tuple[CycleMessage, ...]:
        """The texts of the newest reply variant, in the order in which the user saw them."""
        return self.variants[-1].messages if self.variants else ()


class Conversation(Frozen):
    """A chat: its user, and the tip of its live branch (CM-1)."""

    id: str
    user: str
    tip: str | None = None
    title: str | None = None
    created: datetime
    updated: datetime


class MessageVector(Frozen):
    """The vector of one text of a cycle, keyed by the digest of the text."""

    cycle: str
    digest: str
    """Of the text (`memory.text.digest`)."""
    model: str
    """Name of the embedding model; rows of another model are not compared with."""
    data: bytes
    """float32, little-endian, unit length."""


class ChannelLink(Frozen):
    """The user behind a sender on a messaging channel (LM-13)."""

    channel: str
    sender: str
    """Id of the sender on the channel: a phone number, a chat id."""
    user: str
    at: datetime
