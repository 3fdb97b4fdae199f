"""Documents beside the cycles: the memory of a chat, the profile, and the user's settings."""

from typing import Literal, Self

from pydantic import AwareDatetime, Field

from thoughtcycle.memory.model.base import Frozen
from thoughtcycle.memory.model.judgement import CriticalDatum, Mood, PreservedData


class OldCycle(Frozen):
    """A cycle that left the recent window, as its summary (CM-3)."""

    cycle_id: str
    timestamp: AwareDatetime
    summary: str
    preserved_data: PreservedData = PreservedData()
    original_word_count: int
    summary_word_count: int
    importance: int = 0
    pending_summarization: bool = False
    """`summary` is the whole exchange, which could not be summarised yet (CM-8)."""
    compressed: bool = False
    """The summary was shortened to at most 20 words."""
    expires: AwareDatetime | None = None
    """When its cycle leaves the medium-term layer (LM-6); None: it is not in it."""


class MaskedRecord(Frozen):
    """A document that may be read without the words of hidden memories; a write does not lose them."""

    _hidden: frozenset[str] = frozenset()

    @property
    def hidden(self) -> frozenset[str]:
        """Ids of the memories whose words were redacted on reading; not stored."""
        return self._hidden

    def without(self, hidden: frozenset[str]) -> Self:
        """A copy that names these memories as redacted."""
        copy = self.model_copy()
        copy._hidden = hidden
        return copy


class Period(Frozen):
    """Old cycles rolled up into one summary (CM-6)."""

    cycle_ids: tuple[str, ...]
    """Only the first in a partial read."""
    since: AwareDatetime
    until: AwareDatetime
    summary: str
    word_count: int
    importance: int = 0
    """The highest of its cycles."""

    @property
    def first(self) -> str:
        """The first of its cycles; "" without any, as after an edit by hand."""
        return self.cycle_ids[0] if self.cycle_ids else ""


class LedgerEntry(Frozen):
    """The preserved data of a cycle whose summary was compressed; the ledger only grows (CM-6)."""

    cycle_id: str
    timestamp: AwareDatetime
    preserved_data: PreservedData


class ConversationMemory(MaskedRecord):
    """The memory document of a chat (CM-1), written by formation only.

    Its recent memory (CM-2) is not stored: it is the last two complete cycles of the transcript.
    """

    chat_id: str
    user_id: str
    revision: int = 0
    """Number of writes, an optimistic lock; 0: never stored."""
    old_memory: tuple[OldCycle, ...] = ()
    """Oldest first."""
    periods: tuple[Period, ...] = ()
    """Oldest first."""
    critical_data: tuple[CriticalDatum, ...] = ()
    working: str = ""
    """The working summary: at most 80 tokens on goal, state and mood (HM-2)."""
    working_cycles: tuple[str, ...] = ()
    """The cycles since the working summary was made."""
    unjudged: tuple[str, ...] = ()
    """Recent cycles whose judgement is pending (CM-8); an old one has `pending_summarization`."""
    head: str | None = None
    """The last cycle that formation has taken in."""
    total_cycles: int = 0
    total_word_count: int = 0
    """Words of recent cycles, old summaries, periods and working summary (CM-5)."""
    last_compression: AwareDatetime | None = None
    compression_count: int = 0
    stuck: bool = False
    """Compression found no way to its target: not tried again until something changes."""
    created_at: AwareDatetime
    updated_at: AwareDatetime
    ledger: tuple[LedgerEntry, ...] = ()
    """Empty in a partial read."""
    rolled: int | None = Field(default=None, exclude=True)
    """In a partial read: how many cycles the periods cover; else None."""

    @property
    def partial(self) -> bool:
        """Whether it was read without ledger and cycles of periods, which grow with the chat."""
        return self.rolled is not None

    @property
    def rolled_cycles(self) -> int:
        """How many cycles the periods cover."""
        return sum(len(one.cycle_ids) for one in self.periods) if self.rolled is None else self.rolled


class ProfileEntry(Frozen):
    """A habit or preference of the user, with its confidence (LM-3)."""

    key: str
    value: str
    category: str = ""
    confidence: float = Field(ge=0.0, le=1.0)
    observations: int = 1
    cycles: tuple[str, ...] = ()
    """The last cycles that showed it."""
    created: AwareDatetime
    updated: AwareDatetime


class Profile(MaskedRecord):
    """The cognitive profile of a user (LM-3)."""

    user: str
    revision: int = 0
    """Number of writes; 0: never stored."""
    entries: tuple[ProfileEntry, ...] = ()
    moods: tuple[tuple[str, Mood], ...] = ()
    """The last moods with their cycles, the latest last; recurring patterns are found in them (HM-4)."""


class UserSettings(Frozen):
    """The settings of one user; None: the default of the deployment."""

    user: str
    revision: int = Field(default=0, ge=0)
    """Number of writes; 0: never stored."""
    smart_context: bool | None = None
    """Whether summaries of other chats are shown (SM-6); off by default."""
    paused: bool = False
    """The transcript is stored, nothing is learned from it (BY-10)."""
    language: Literal["pt", "en"] | None = None
    time_zone: str | None = None
    """IANA name."""
