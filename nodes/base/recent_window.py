"""The recent window: the last complete cycles as utterances, masked and within a token budget (pure)."""

from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage

from thoughtcycle.memory.model import Cycle, Utterance
from thoughtcycle.memory.redaction import Mask
from thoughtcycle.nodes.base.envelope import role_of, utterance
from thoughtcycle.text_clipping import CHARACTERS_PER_TOKEN, clip_middle


def of_cycles(cycles: Iterable[Cycle]) -> list[Utterance]:
    """Complete cycles, oldest first, as utterances."""
    return [
        Utterance(role=message.role, content=message.text, chat_history=message.chat_history)
        for cycle in cycles
        for message in (cycle.message, *cycle.replies)
    ]


def of_messages(messages: Sequence[BaseMessage], cycles: int) -> list[Utterance]:
    """The last `cycles` exchanges among `messages`, oldest first; used where there is no transcript."""
    starts = [place for place, message in enumerate(messages) if role_of(message) == "user"]
    kept = messages[starts[-cycles] :] if len(starts) >= cycles else messages
    return [utterance(message) for message in kept]


def masked(window: Iterable[Utterance], mask: Mask) -> list[Utterance]:
    """The window without the words of hidden memories; for messages of the thread's state."""
    return [
        {**one, "content": (mask.reply if one["role"] == "assistant" else mask.text)(one["content"])}
        for one in window
    ]


def fit(window: Sequence[Utterance], tokens: int) -> list[Utterance]:
    """The window within `tokens` in all: each text has an equal share, head and tail of a longer one stay."""
    share = tokens * CHARACTERS_PER_TOKEN // max(len(window), 1)
    return [{**one, "content": clip_middle(one["content"], share)} for one in window]
