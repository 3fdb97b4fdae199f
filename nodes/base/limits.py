"""Every limit of the cycle: one setting, its default, its range, one sentence."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from thoughtcycle.memory.files import FileLimits
from thoughtcycle.memory.rules.word_budget import WordBudget
from thoughtcycle.mind.base import Explain


class Limits(BaseModel):
    """Limits of one deployment; environment: `THOUGHTCYCLE_LIMITS__<NAME>`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_steps: int = Field(default=8, ge=1, le=50, description="Decisions in one cycle (TC-4).")
    message_chars: int = Field(
        default=200_000, ge=100, le=10_000_000, description="Longest message accepted, in characters."
    )
    window_cycles: int = Field(
        default=2, ge=1, le=3, description="Complete cycles shown verbatim (HM-1: 4 messages)."
    )
    window_tokens: int = Field(
        default=2_000, ge=200, le=100_000, description="Budget of the recent messages (BY-7)."
    )
    briefing_tokens: int = Field(
        default=1_000, ge=100, le=100_000, description="Budget of the memory block (BY-7)."
    )
    briefing_recipe: Literal["layered", "compact"] = Field(
        default="layered", description="layered: places per layer (LM-5); compact: a few facts (HM-9)."
    )
    briefing_facts: int = Field(
        default=5, ge=0, le=50, description="Facts of the compact recipe (HM-9: 3 to 5); 0: no memory block."
    )
    search_contexts: int = Field(default=6, ge=1, le=20, description="Contexts one search may look for.")
    search_hits: int = Field(default=5, ge=1, le=50, description="Memories shown per context (HM-9).")
    recalled: int = Field(default=40, ge=5, le=200, description="Recalled memories kept in a thread's state.")
    state_messages: int = Field(default=40, ge=8, le=400, description="Messages kept in a thread's state.")
    save_items: int = Field(default=20, ge=1, le=200, description="Memories one save may write.")
    content_chars: int = Field(
        default=20_000, ge=100, le=1_000_000, description="Longest memory content, in characters."
    )
    file_bytes: int = Field(
        default=10_000_000, ge=1_000, le=1_000_000_000, description="Largest file that is kept (LM-15)."
    )
    file_chars: int = Field(
        default=100_000, ge=100, le=2_000_000, description="Text of a file that is found, in characters."
    )
    file_pages: int = Field(default=2_000, ge=1, le=100_000, description="Pages of a PDF that is read.")
    file_seconds: float = Field(
        default=20.0, ge=1.0, le=600.0, description="Seconds that reading a file may take."
    )
    file_excerpt: int = Field(
        default=4_000,
        ge=0,
        le=100_000,
        description="Text of attached files shown in their turn, in characters.",
    )
    grace_hours: float = Field(
        default=24.0,
        ge=0.0,
        le=8_760.0,
        description="Hours until what was deleted is erased for good, and cannot be brought back (BY-9).",
    )
    keep_turns: int = Field(default=5, ge=1, le=1_000, description="Turns whose checkpoints are kept.")
    explain_actions: Explain = Field(
        default="auto",
        description="Who says what actions did: auto: the reply; on: a short text after each; off: nobody.",
    )
    memory_words: int = Field(
        default=2_500, ge=200, le=1_000_000, description="Words of a conversation's memory (CM-5)."
    )
    compress_at: float = Field(
        default=0.9, ge=0.5, le=1.0, description="Share of those words at which compression starts (CM-5)."
    )
    compress_to: float = Field(
        default=0.4, ge=0.1, le=0.8, description="Share of those words to which it goes, below compress_at."
    )
    summary_words: int = Field(
        default=50, ge=10, le=200, description="Words of the summary of an exchange (CM-3)."
    )
    compressed_words: int = Field(
        default=20, ge=5, le=100, description="Words of a summary that was compressed (CM-6)."
    )
    period_words: int = Field(
        default=40, ge=10, le=400, description="Words of the summary of several exchanges (CM-6)."
    )
    working_every: int = Field(
        default=4, ge=3, le=5, description="Exchanges after which the working summary is made anew (HM-2)."
    )

    @property
    def files(self) -> FileLimits:
        """How far the reading of a file may go."""
        return FileLimits(
            bytes=self.file_bytes,
            characters=self.file_chars,
            pages=self.file_pages,
            seconds=self.file_seconds,
        )

    @property
    def word_budget(self) -> WordBudget:
        """The limits of a conversation's memory."""
        return WordBudget(
            words=self.memory_words,
            start=self.compress_at,
            target=min(self.compress_to, self.compress_at),
            summary=self.summary_words,
            compressed=self.compressed_words,
            period=self.period_words,
        )
