"""Results of a search, and a found memory as a turn carries it."""

from datetime import datetime

from typing_extensions import TypedDict

from thoughtcycle.memory.model.attachment import file_of, with_piece
from thoughtcycle.memory.model.base import Frozen, Kind, Role
from thoughtcycle.memory.model.records import MemoryRecord


class MemoryHit(Frozen):
    """A memory that a search found."""

    record: MemoryRecord
    relevance: float
    """In [0, 1], comparable within one search only."""
    matched: str
    """The search key that matched best."""

    @property
    def shown(self) -> MemoryRecord:
        """The memory for display: a file as its name and the piece of its text that matched."""
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
    """Of the speaker, if known."""
    at: datetime
    text: str
    """Verbatim, without the words of hidden memories."""
    relevance: float
    """In [0, 1], comparable within one search only."""


class Recalled(TypedDict):
    """A memory shown in this thread, which the thread may therefore update or delete."""

    id: str
    content: str
    kind: Kind | None
    key: str | None
    at: str
    """Day on which it was said, ISO 8601."""
    revision: int
    """Of the memory when it was found; a different one shows that it changed since."""
