"""How much a conversation's memory holds, in words, and when that is too much (CM-5; pure)."""

from collections.abc import Iterable
from dataclasses import dataclass

from thoughtcycle.budget import count_words
from thoughtcycle.memory.model import ConversationMemory, Cycle, OldCycle, Period


@dataclass(frozen=True)
class Volume:
    """Limits of a conversation's memory; critical and preserved data are a ledger and do not count."""

    words: int = 2_500
    start: float = 0.9
    """Share of `words` at which compression starts."""
    target: float = 0.4
    """Share of `words` to which it goes."""
    summary: int = 50
    """Words of a cycle's summary."""
    compressed: int = 20
    """Words of a summary that was compressed."""
    period: int = 40
    """Words of the summary of several cycles."""

    @property
    def goal(self) -> int:
        """Words that compression goes down to."""
        return round(self.words * self.target)


def reply_text(cycle: Cycle) -> str:
    """The full reply: all that the user saw in the cycle, in order."""
    return "\n\n".join(message.text for message in cycle.replies)


def cycle_words(cycle: Cycle) -> int:
    """Words of an exchange: the user's message and the full reply."""
    return count_words(cycle.message.text) + count_words(reply_text(cycle))


def recent_words(recent: Iterable[Cycle]) -> int:
    """Words of the cycles in the recent window."""
    return sum(map(cycle_words, recent))


def counted(memory: ConversationMemory, recent: Iterable[Cycle]) -> ConversationMemory:
    """`memory` with every word count as it should be, whatever was stored (CM-8)."""
    old = tuple(map(_right, memory.old_memory))
    periods = tuple(map(_right_period, memory.periods))
    total = recent_words(recent) + count_words(memory.working)
    total += sum(one.summary_word_count for one in old) + sum(one.word_count for one in periods)
    changed = {"old_memory": old, "periods": periods, "total_word_count": total}
    return memory.model_copy(update=changed)


def _right(one: OldCycle) -> OldCycle:
    words = count_words(one.summary)
    return one if words == one.summary_word_count else one.model_copy(update={"summary_word_count": words})


def _right_period(one: Period) -> Period:
    words = count_words(one.summary)
    return one if words == one.word_count else one.model_copy(update={"word_count": words})


def old_words(summaries: Iterable[OldCycle | Period]) -> int:
    """Words of summaries, counted anew."""
    return sum(count_words(one.summary) for one in summaries)


def usage(memory: ConversationMemory, volume: Volume) -> float:
    """Words in percent of the limit."""
    return round(100 * memory.total_word_count / volume.words, 1)


def compression_due(memory: ConversationMemory, volume: Volume) -> bool:
    """Whether compression shall start: enough words, and a change since it last found no way."""
    return not memory.stuck and memory.total_word_count >= volume.words * volume.start
