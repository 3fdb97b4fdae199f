"""The port of the transcript: cycles, the branches that they form, and vectors of their messages."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from thoughtcycle.memory.model import Conversation, Cycle, MessageVector


@dataclass(frozen=True)
class CycleFeed:
    """What an index of the transcript lacks."""

    number: int
    """Of the user's last change to a closed cycle; all up to it are in."""
    cycles: tuple[Cycle, ...]
    """The closed cycles that changed, as they are now, in the order of their last change."""
    tips: Mapping[str, str | None]
    """Chat → end of its live branch, for the chats of `cycles`."""
    vectors: tuple[MessageVector, ...]
    """Those of `cycles`, of one model."""


@dataclass(frozen=True)
class Begun:
    """What the beginning of a cycle found."""

    conversation: Conversation
    cycle: Cycle | None
    """As stored; None where the chat is another user's."""
    left: tuple[Cycle, ...]
    """The cycles of the chat that were open before."""


@dataclass(frozen=True)
class Amended:
    """A cycle after its change."""

    cycle: Cycle
    tip: str | None
    """The end of its chat's live branch before."""


class Transcript(ABC):
    """Cycles of users; closed ones are numbered in the order of their changes."""

    @abstractmethod
    async def begin(
        self, user: str, chat: str, at: datetime, cycle: Callable[[Conversation], Cycle]
    ) -> Begun:
        """`claim`, `open_cycles` and, where the chat is the user's, `add_cycle` of what `cycle` makes of it.

        A backend that can does it in one go: this is the first thing that each turn waits for. Raises
        NotAllowed('user_forgotten') when `at` is not after the moment at which the user was forgotten.
        """

    @abstractmethod
    async def add_cycle(self, cycle: Cycle) -> Cycle:
        """Stores a new cycle; when its id is known already, returns the stored one unchanged."""

    @abstractmethod
    async def append_cycle(self, cycle: Cycle) -> Cycle:
        """Stores a new closed cycle behind the end of its chat's live branch and makes it the end, in one go.

        Its `parent` is what was the end; two at once come one after the other. When its id is known already,
        returns the stored one unchanged.
        """

    @abstractmethod
    async def amend_cycle(
        self, user: str, id: str, change: Callable[[Cycle], Cycle], *, tip: bool = False, anew: bool = False
    ) -> Amended | None:
        """Replaces a cycle by `change` of it, atomically; None when it is unknown.

        `change` must be pure: it may be called again when another writer was faster. With `tip` the cycle
        becomes the end of its chat's live branch, in the same transaction where there are transactions.
        Where only what formation made of a closed cycle changes (`same_words`), it keeps its number and its
        vectors, unless `anew`.
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
        """Cycle → parent, for all cycles of these chats; no parent that is of another of them."""

    @abstractmethod
    async def cycle_feed(self, user: str, after: int, *, model: str | None) -> CycleFeed:
        """What happened to the user's closed cycles after change `after`; 0: all of them.

        Closing a cycle and every later amendment of its words takes the next number of a counter of the
        user's own, with the amendment itself, so that no reader sees a number before all smaller ones.
        Numbers may have gaps.
        """

    @abstractmethod
    async def keep_message_vectors(self, user: str, vectors: Sequence[MessageVector]) -> None:
        """Keeps vectors of texts of the user's cycles, each once; those of unknown cycles are dropped.

        Amending a cycle's words drops its vectors: they are made again from what it says then.
        """

    @abstractmethod
    async def drop_message_vectors(self, user: str, *, keep: str) -> None:
        """Removes the vectors of the user's messages, those of the model `keep` aside."""
