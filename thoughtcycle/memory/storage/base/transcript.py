"""The port of the transcript: cycles, the branches that they form, and vectors of their messages.

Beside it the pure rules that both databases apply to the cycles that they read.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from thoughtcycle.memory.model import Conversation, Cycle, MessageVector


@dataclass(frozen=True)
class CycleFeed:
    """Changes that an index of the transcript has not seen yet."""

    number: int
    """The number of the user's last change to a closed cycle; all up to it are included."""
    cycles: tuple[Cycle, ...]
    """The changed closed cycles as they are now, in the order of their last change."""
    tips: Mapping[str, str | None]
    """Chat → end of its live branch, for the chats of `cycles`."""
    vectors: tuple[MessageVector, ...]
    """Vectors of `cycles`, of one model."""


@dataclass(frozen=True)
class Begun:
    """The state of a chat at the beginning of a cycle."""

    conversation: Conversation
    cycle: Cycle | None
    """As stored; None where the chat is another user's."""
    interrupted: tuple[Cycle, ...]
    """The cycles of the chat that were still open."""


@dataclass(frozen=True)
class Amended:
    """A cycle after its change."""

    cycle: Cycle
    tip: str | None
    """The former tip of its chat."""


class Transcript(ABC):
    """Cycles of users; closed ones are numbered in the order of their changes."""

    @abstractmethod
    async def begin(
        self, user: str, chat: str, at: datetime, cycle: Callable[[Conversation], Cycle]
    ) -> Begun:
        """`claim`, `open_cycles` and, where the chat is the user's, `add_cycle` of what `cycle` makes of it.

        In one transaction where the backend can: each turn waits for it first. Raises
        NotAllowed('user_forgotten') when the user was forgotten at `at` or later.
        """

    @abstractmethod
    async def add_cycle(self, cycle: Cycle) -> Cycle:
        """Stores a new cycle; when its id is known already, returns the stored one unchanged."""

    @abstractmethod
    async def append_cycle(self, cycle: Cycle) -> Cycle:
        """Appends a closed cycle to the live branch: its `parent` is the former tip, and it is the tip.

        When its id is known already, returns the stored one unchanged.
        """

    @abstractmethod
    async def amend_cycle(
        self, user: str, id: str, change: Callable[[Cycle], Cycle], *, tip: bool = False, anew: bool = False
    ) -> Amended | None:
        """Replaces a cycle by `change` of it, atomically; None when it is unknown.

        `change` must be pure: it may be called again when another writer was faster. With `tip` the cycle
        becomes the tip of its chat in the same commit. Where only the results of formation change
        (`same_words`), a closed cycle keeps its number and its vectors, unless `anew`.
        """

    @abstractmethod
    async def cycle(self, user: str, id: str) -> Cycle | None:
        """One cycle of the transcript."""

    @abstractmethod
    async def cycles(self, user: str, ids: Sequence[str]) -> list[Cycle]:
        """Cycles with these ids, open ones too, in this order; unknown ids are left out."""

    @abstractmethod
    async def path(self, user: str, chat: str, tip: str, *, limit: int) -> list[Cycle]:
        """The last `limit` closed cycles of a chat from `tip` back along their parents, newest first."""

    @abstractmethod
    async def open_cycles(
        self, *, user: str | None = None, chat: str | None = None, before: datetime | None = None
    ) -> list[Cycle]:
        """Cycles that are not closed: of a user's chat, or those whose heartbeat is older than `before`."""

    @abstractmethod
    async def links(self, user: str, chats: Collection[str]) -> dict[str, str | None]:
        """Cycle → parent, for all cycles of these chats; None for a parent in another chat."""

    @abstractmethod
    async def cycle_feed(self, user: str, after: int, *, model: str | None) -> CycleFeed:
        """Changes of the user's closed cycles after number `after`; 0: all of them.

        Closing a cycle and every later amendment of its words takes the next number of the user's counter in
        the same commit, so that no reader sees a number before all smaller ones. Numbers may have gaps.
        """

    @abstractmethod
    async def keep_message_vectors(self, user: str, vectors: Sequence[MessageVector]) -> None:
        """Stores vectors of the user's cycles, each once; skips those of unknown cycles.

        Amending a cycle's words deletes its vectors.
        """

    @abstractmethod
    async def drop_message_vectors(self, user: str, *, keep: str) -> None:
        """Deletes the vectors of the user's messages, except those of the model `keep`."""


def same_words(before: Cycle, after: Cycle) -> bool:
    """Whether two states of a closed cycle differ in the results of formation only."""
    formed = {"judgement": after.judgement, "marks": after.marks, "formation": after.formation}
    return before.closed and after.closed and before.model_copy(update=formed) == after


class BranchWalk:
    """Walks from the tip of a branch back along parents."""

    def __init__(self, chat: str, tip: str, limit: int) -> None:
        self.next: str | None = tip
        """The cycle to read; None at the end."""
        self.closed: list[Cycle] = []
        self._chat, self._limit = chat, limit
        self._seen: set[str] = set()

    def add(self, cycle: Cycle | None) -> None:
        """Continues from `cycle`, the one to read; None when it does not exist."""
        self.next = None
        if cycle is None or cycle.chat != self._chat:
            return
        self._seen.add(cycle.id)
        if cycle.closed:
            self.closed.append(cycle)
        if len(self.closed) < self._limit and cycle.parent not in self._seen:
            self.next = cycle.parent


def links_of(rows: Iterable[tuple[str, str | None, str]]) -> dict[str, str | None]:
    """The links (see `Transcript.links`) of rows of cycle, parent and chat."""
    rows = list(rows)
    chats = {cycle: chat for cycle, _, chat in rows}
    return {
        cycle: None if parent is not None and chats.get(parent, chat) != chat else parent
        for cycle, parent, chat in rows
    }
