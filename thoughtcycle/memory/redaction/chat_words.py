"""A mask that takes a whole chat out of a shared state: its messages, and its very words (pure)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from thoughtcycle.memory.model import Cycle, CycleMessage, Step
from thoughtcycle.memory.redaction.redactor import Mask
from thoughtcycle.memory.text.spans import HIDDEN

_FEWEST_WORDS = 3
"""A text of fewer words goes where it stands alone; within a longer text it may be anybody's."""


@dataclass(frozen=True)
class Verbatim(Mask):
    """A mask of what was said, whoever says it again and whenever; texts as they stand, no values."""

    messages: frozenset[str] = frozenset()
    """Ids of the messages that go, whatever they say."""
    alone: frozenset[str] = frozenset()
    """Texts that go where a text is nothing else."""
    within: tuple[str, ...] = ()
    """Texts that go from longer texts too, the longest first."""

    def __bool__(self) -> bool:
        return bool(self.messages)

    def takes(self, message: str | None) -> bool:
        """Whether the message was said in it."""
        return message in self.messages

    def text(self, text: str, at: datetime | None = None) -> str:
        """`text` without what was said; nothing of it where it is a shortened form of that."""
        if text.strip() in self.alone or self._shortened(text):
            return HIDDEN
        for said in self.within:
            text = text.replace(said, HIDDEN)
        return text

    def reply(self, text: str) -> str:
        """The same: of the assistant's words only those go that were said."""
        return self.text(text)

    def since(self, at: datetime) -> Mask:
        """All of it: a chat that goes takes its newest turn along."""
        return self

    def _shortened(self, text: str) -> bool:
        pieces = [piece.strip() for piece in text.split(HIDDEN)]
        return len(pieces) > 1 and any(all(piece in said for piece in pieces) for said in self.within)


def verbatim(cycles: Iterable[Cycle]) -> Verbatim:
    """All that was said in `cycles`, with what their steps were given and came to."""
    known = list(cycles)
    messages = [message for cycle in known for message in _messages(cycle)]
    whole = {message.text.strip() for message in messages}
    parts = {line.strip() for text in whole for line in text.splitlines()}
    parts |= {text.strip() for cycle in known for step in _steps(cycle) for text in _leaves(step)}
    within = {text for text in whole | parts if len(text.split()) >= _FEWEST_WORDS}
    return Verbatim(
        messages=frozenset(message.id for message in messages),
        alone=frozenset((whole | within) - {"", HIDDEN}),
        within=tuple(sorted(within, key=len, reverse=True)),
    )


def _messages(cycle: Cycle) -> Iterator[CycleMessage]:
    yield cycle.message
    for variant in cycle.variants:
        yield from variant.messages
    yield from (message for _, _, message in cycle.progress if message is not None)


def _steps(cycle: Cycle) -> Iterator[Step]:
    for variant in cycle.variants:
        yield from variant.steps
    yield from (step for _, step, _ in cycle.progress)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
