"""What both databases do alike with the cycles that they read (pure)."""

from collections.abc import Iterable

from thoughtcycle.memory.model import Cycle


def same_words(before: Cycle, after: Cycle) -> bool:
    """Whether a closed cycle differs in nothing but what formation made of it."""
    formed = {"judgement": after.judgement, "marks": after.marks, "formation": after.formation}
    return before.closed and after.closed and before.model_copy(update=formed) == after


class Walk:
    """The way back from the end of a branch, one cycle after the other."""

    def __init__(self, chat: str, tip: str, limit: int) -> None:
        self.next: str | None = tip
        """The cycle to read; None at the end of the way."""
        self.closed: list[Cycle] = []
        self._chat, self._limit = chat, limit
        self._seen: set[str] = set()

    def add(self, cycle: Cycle | None) -> None:
        """Goes on from `cycle`, the one asked for; None when there is none."""
        self.next = None
        if cycle is None or cycle.chat != self._chat:
            return
        self._seen.add(cycle.id)
        if cycle.closed:
            self.closed.append(cycle)
        if len(self.closed) < self._limit and cycle.parent not in self._seen:
            self.next = cycle.parent


def links_of(rows: Iterable[tuple[str, str | None, str]]) -> dict[str, str | None]:
    """Links (see `Transcript.links`) of rows of cycle, parent and chat."""
    known = list(rows)
    chats = {cycle: chat for cycle, _, chat in known}
    return {
        cycle: None if parent is not None and chats.get(parent, chat) != chat else parent
        for cycle, parent, chat in known
    }
