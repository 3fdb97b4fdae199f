"""What is kept: cycles of the transcript, memories, their vectors and the journal of every change."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NotRequired, get_args

from pydantic import AwareDatetime, ConfigDict, Field
from typing_extensions import TypedDict

from thoughtcycle.memory.model.attachment import file_of, line_of, with_piece
from thoughtcycle.memory.model.base import Frozen as Frozen
from thoughtcycle.memory.model.base import Kind as Kind
from thoughtcycle.memory.model.base import Layer as Layer
from thoughtcycle.memory.model.base import Role as Role
from thoughtcycle.memory.model.judgement import CriticalDatum as CriticalDatum
from thoughtcycle.memory.model.judgement import CriticalKind as CriticalKind
from thoughtcycle.memory.model.judgement import Judgement as Judgement
from thoughtcycle.memory.model.judgement import LayerMark
from thoughtcycle.memory.model.judgement import Preserved as Preserved
from thoughtcycle.memory.model.judgement import PreservedData as PreservedData

Status = Literal["active", "archived", "superseded", "hidden", "erased"]
STATUSES: tuple[Status, ...] = get_args(Status)
Op = Literal[
    "save",
    "supersede",
    "reinforce",
    "update",
    "correct",
    "merge",
    "pin",
    "unpin",
    "prioritise",
    "condense",
    "archive",
    "unarchive",
    "hide",
    "abandon",
    "restore",
    "undo",
    "erase",
    "redact",
    "reembed",
]
"""`supersede` keeps (or drops) a former version under an id of its own; its memory is that version.
A merge is two rows, one after the other: that of the memory which it ended, then that of the one it kept.
`prioritise` moves the priority by use, `condense` says an old memory in fewer words.
`abandon` and `restore` follow the live branch of a chat; nobody undoes them by hand. `erase` empties a memory
for good, with its former rows; `redact` takes the words of an erased memory out of another one's source;
`reembed` gives it vectors of another embedding model."""


def utc_now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


class Step(TypedDict):
    """What one action of the running cycle did; plain JSON, because it lives in the graph's state."""

    action: str
    input: Any
    outcome: str
    """A short sentence for the router and the reply; never the content of what was erased."""
    status: Literal["done", "repeated", "nothing", "refused", "cut"]
    found: NotRequired[list[str]]
    """Ids of the memories that this step found or wrote."""
    about: NotRequired[list[str]]
    """What this step erased, as the user named it; never the content."""
    tokens: NotRequired[int]


class Recalled(TypedDict):
    """A memory shown in this thread, which the thread may therefore update or delete."""

    id: str
    content: str
    kind: Kind | None
    key: str | None
    at: str
    """Day on which it was said, ISO 8601."""
    revision: int
    """Of the memory that this was taken from: another one says that it changed since."""


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
    """Ids of the memories that the model was given unasked, in the memory block."""


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
    """What the running execution has shown so far: (execution, step, text). Emptied on closing."""
    variants: tuple[Variant, ...] = ()
    formation: Literal["none", "pending", "done", "failed"] | None = None
    """None while the cycle is open; `none`: nothing is learned from it; `failed`: it was given up."""
    judgement: Judgement | None = None
    """What it is worth; None until formation has looked at its newest reply."""
    marks: tuple[LayerMark, ...] = ()
    """The layers in which it is seen, and until when (LM-6)."""
    late: bool = False
    """An outage came between: its thread's state may not know of it."""

    @property
    def closed(self) -> bool:
        """Whether a full reply stands."""
        return self.formation is not None

    @property
    def replies(self) -> tuple[CycleMessage, ...]:
        """The texts of the newest reply variant, in the order in which the user saw them."""
        return self.variants[-1].messages if self.variants else ()


class Conversation(Frozen):
    """A chat: whose it is and where its live branch ends (CM-1)."""

    id: str
    user: str
    tip: str | None = None
    title: str | None = None
    created: datetime
    updated: datetime


class Source(Frozen):
    """Where a memory comes from: the cycle and the very words."""

    cycle: str | None = None
    speaker: Role = "user"
    words: str = ""


class MemoryDraft(Frozen):
    """A memory to be saved."""

    content: Any
    type: str = "text"
    kind: Kind | None = None
    key: str | None = Field(default=None, max_length=200)
    """Unique among a user's active memories: a new content under the same key supersedes the old one."""
    bindings: tuple[str, ...] = ()
    """Short search contexts under which it shall be found, beside its content."""
    tags: tuple[str, ...] = ()
    layer: Layer | None = None
    """None: by its kind."""
    importance: int | None = Field(default=None, ge=0, le=100)
    """As it was judged; never changed afterwards."""
    priority: float | None = Field(default=None, ge=1.0, le=10.0)
    """None: that of its layer."""
    weight: float = Field(default=1.0, ge=0.0, le=1.0)
    pinned: bool = False
    expires: AwareDatetime | None = None
    """When it stops counting and may be archived; None: never."""
    said: AwareDatetime | None = None
    """When it was said, and holds from; None, or in the future: now."""
    source: Source = Source()


class MemoryRecord(Frozen):
    """A memory document (TC-15); stored names are `_id`, `memoriesId`, `vectorIds`."""

    model_config = ConfigDict(ser_json_inf_nan="constants", validate_by_name=True, validate_by_alias=True)

    id: str = Field(validation_alias="_id", serialization_alias="_id")
    space: str = Field(validation_alias="memoriesId", serialization_alias="memoriesId")
    """The memory space: the user's id."""
    revision: int
    """Number of the journal row that made this version; guards against blind overwrites."""
    type: str
    content: Any
    kind: Kind | None = None
    layer: Layer = "long"
    key: str | None = None
    bindings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    vector_ids: tuple[str, ...] = Field(
        default=(), validation_alias="vectorIds", serialization_alias="vectorIds"
    )
    importance: int | None = None
    """0–100, judged once and immutable; None: never judged."""
    weight: float = 1.0
    priority: float = 5.0
    """1–10: policy of the layer, moved by use."""
    pinned: bool = False
    """Stays as it is until it is unpinned: neither decays nor is archived."""
    status: Status = "active"
    source: Source = Source()
    reason: str | None = None
    """Why it is hidden: `user` asked, or its branch of the chat was `abandoned`."""
    current: str | None = None
    """On a superseded version: the id that names the current one."""
    merged: bool = False
    """It was a memory of its own until it was merged into `current`: its id stands for that one."""
    valid_from: datetime
    valid_to: datetime | None = None
    expires: datetime | None = None
    archived_at: datetime | None = None
    """Since when it is archived, also while it is hidden."""
    reinforced_at: datetime | None = None
    created: datetime
    updated: datetime

    @property
    def text(self) -> str:
        """The content as one line of text."""
        return as_text(self.content)


class Vector(Frozen):
    """A search key of a memory: its content or one of its bindings (TC-15: `{"nosqlId": id}`)."""

    id: str
    space: str
    memory: str
    text: str
    model: str
    """Name of the embedding model; rows of another model are not compared with."""
    data: bytes
    """float32, little-endian, unit length."""


class MessageVector(Frozen):
    """The vector of one text of a cycle; found again by the text it was made from."""

    cycle: str
    digest: str
    """Of the text (`words.digest`)."""
    model: str
    """Name of the embedding model; rows of another model are not compared with."""
    data: bytes
    """float32, little-endian, unit length."""


class JournalEntry(Frozen):
    """One change of one memory. The journal is the feed that indexes follow and what `undo` reads."""

    space: str
    number: int
    """Contiguous per space, from 1."""
    at: datetime
    op: Op
    memory: str
    cycle: str | None = None
    before: MemoryRecord | None = None
    """The document before the change; None when it did not exist."""
    undoes: int | None = None


class Access(Frozen):
    """How often a memory was found, and when last (LM-9); stands outside document and journal."""

    count: int
    last: datetime


class ChannelLink(Frozen):
    """Who a sender on a messaging channel is (LM-13)."""

    channel: str
    sender: str
    """What the channel calls them: a phone number, a chat id."""
    user: str
    at: datetime


class MemoryHit(Frozen):
    """A memory that a search found."""

    record: MemoryRecord
    relevance: float
    """In [0, 1], comparable within one search only."""
    matched: str
    """The search key that matched best."""

    @property
    def shown(self) -> MemoryRecord:
        """The memory as it is told: of a file its name and the piece of its text that was found."""
        record = self.record
        if file_of(record.content) is None or self.matched == record.text:
            return record
        return record.model_copy(update={"content": with_piece(record.content, self.matched)})


class MessageHit(Frozen):
    """A message of the transcript that a search found."""

    cycle: str
    chat: str
    message: str
    """Its id."""
    role: Role
    name: str | None
    """Of the speaker, where it is known."""
    at: datetime
    text: str
    """As it was said; words of hidden memories are masked."""
    relevance: float
    """In [0, 1], comparable within one search only."""


ITEM = "store:item"
"""Type of what an app keeps through `ThoughtCycleStore`; a model cannot name it (no colon in its types)."""


def searched_texts(type: str, content: Any, bindings: Sequence[str]) -> tuple[str, ...]:
    """The texts under which something is found; an item only by its bindings, which are made of its value."""
    return tuple(bindings) if type == ITEM else (as_text(content), *bindings)


def as_text(content: Any) -> str:
    """Any memory content as one line: text as it is, a file by its name, everything else as compact JSON."""
    if isinstance(content, str):
        return content
    return as_json(content) if file_of(content) is None else line_of(content)


def as_json(content: Any) -> str:
    """Any memory content as compact JSON; equal for equal contents only."""
    return json.dumps(content, ensure_ascii=False, sort_keys=True)


def without_null(value: Any) -> Any:
    """A JSON value without U+0000 in its texts: what a model or a file says is not lost for it."""
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, dict):
        return {without_null(name): without_null(item) for name, item in value.items()}
    return [without_null(item) for item in value] if isinstance(value, list) else value


class Saved(Frozen):
    """What became of a draft."""

    record: MemoryRecord
    """The memory that now says it."""
    outcome: Literal["saved", "known", "superseded", "erased"]
    """`erased`: it was erased for good after it was said, so that nothing is kept; `record` is the stub."""
    former: MemoryRecord | None = None
    """The version that it superseded, under the id that it is now kept at."""


class UndoResult(Frozen):
    """What an undo took back."""

    undone: JournalEntry | None
    """The change that was taken back; None when there was nothing left to undo."""
    record: MemoryRecord | None
    """The memory as it is now."""
