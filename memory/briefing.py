"""What of a user's memory is put before a model each turn, under a token budget (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass

from thoughtcycle.memory.records import MemoryHit

CHARS_PER_TOKEN = 4
"""The same documented estimate as for the recent window."""


@dataclass(frozen=True)
class Brief:
    """A rendered memory block and its account."""

    text: str
    shown: tuple[str, ...]
    left_out: int
    tokens: int


def compact(hits: Sequence[MemoryHit], *, heading: str, tokens: int) -> Brief:
    """Hits, best first, as a bulleted block (HM-10) that never exceeds `tokens`; no hits, no text."""
    lines, shown = [heading], []
    room = tokens * CHARS_PER_TOKEN - len(heading)
    for hit in hits:
        line = f"- {' '.join(hit.record.text.split())}"
        if len(line) + 1 > room:
            continue
        room -= len(line) + 1
        lines.append(line)
        shown.append(hit.record.id)
    text = "\n".join(lines) if shown else ""
    return Brief(text, tuple(shown), len(hits) - len(shown), -(-len(text) // CHARS_PER_TOKEN))
