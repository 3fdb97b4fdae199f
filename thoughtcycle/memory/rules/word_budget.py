"""The word budget of a conversation memory, and its word counts (CM-5; pure)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from thoughtcycle.memory.model import ConversationMemory, Cycle, OldCycle, Period
from thoughtcycle.text_clipping import count_words

Summary = TypeVar("Summary", OldCycle, Period)


@dataclass(frozen=True)
class WordBudget:
    """Limits of a conversation memory; critical and preserved data do not count."""

    words: int = 2_500
    start: float = 0.9
    """Share of `words` at which compression starts."""
    target: float = 0.4
    """Share of `words` at which it ends."""
    summary: int = 50
    """Words of a cycle's summary."""
    compressed: int = 20
    """Words of a compressed summary."""
    period: int = 40
    """Words of the summary of several cycles."""

    @property
    def goal(self) -> int:
        """Words after compression."""
        return round(self.words * self.target)


def reply_text(cycle: Cycle) -> str:
    """The full reply: all texts that the user saw in the cycle, in order."""
    return "\n\n".join(message.text for message in cycle.replies)


def cycle_words(cycle: Cycle) -> int:
    """Words of an exchange: the user's message and the full reply."""
    return count_words(cycle.message.text) + count_words(reply_text(cycle))


def recent_words(recent: Iterable[Cycle]) -> int:
    """Words of the cycles in the recent window."""
    return sum(map(cycle_words, recent))


def with_word_counts(memory: ConversationMemory, recent: Iterable[Cycle]) -> ConversationMemory:
    """`memory` with all words counted anew (CM-8)."""
    old = tuple(_with_count(one, "summary_word_count") for one in memory.old_memory)
    periods = tuple(_with_count(one, "word_count") for one in memory.periods)
    total = recent_words(recent) + count_words(memory.working)
    total += sum(one.summary_word_count for one in old) + sum(one.word_count for one in periods)
    changed = {"old_memory": old, "periods": periods, "total_word_count": total}
    return memory.model_copy(update=changed)


def _with_count(one: Summary, field: str) -> Summary:
    words = count_words(one.summary)
    return one if words == getattr(one, field) else one.model_copy(update={field: words})


def old_words(summaries: Iterable[OldCycle | Period]) -> int:
    """Words of summaries, counted anew."""
    return sum(count_words(one.summary) for one in summaries)


def usage_percent(memory: ConversationMemory, budget: WordBudget) -> float:
    """Words in percent of the limit."""
    return round(100 * memory.total_word_count / budget.words, 1)


def compression_due(memory: ConversationMemory, budget: WordBudget) -> bool:
    """Whether compression shall start: there are enough words, and it is not stuck."""
    return not memory.stuck and memory.total_word_count >= budget.words * budget.start
