"""How the words of hidden memories are blotted out of what was said (pure)."""

from collections.abc import Iterable

from thoughtcycle.memory.records import MemoryRecord

HIDDEN = "[…]"


def hidden_words(records: Iterable[MemoryRecord]) -> tuple[str, ...]:
    """What hidden memories say and the words they came from, the longest first."""
    words = {text for record in records for text in (record.source.words, record.text) if text.strip()}
    return tuple(sorted(words, key=lambda text: (-len(text), text)))


def masked(text: str, words: Iterable[str]) -> str:
    """`text` with every occurrence of `words` replaced; longer ones have to come first."""
    for hidden in words:
        text = text.replace(hidden, HIDDEN)
    return text
