"""Redacts checkpoints written by a turn that started before an erasure."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from langgraph.graph import END

from thoughtcycle.memory.redaction import Mask
from thoughtcycle.nodes.base.redaction import turn_of

MOST = 1_000
"""Threads whose turns are known; the one not seen for longest goes."""

Erased = Callable[[str, datetime], Awaitable[Mask | None]]
"""User and time → what was hidden or erased since; None where the user was forgotten since."""


class Saver(Protocol):
    """A saver that can redact and delete a thread."""

    async def aredact(self, thread_id: str, mask: Mask) -> int:
        """Takes the words of `mask` out of a thread."""
        ...

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes a thread."""
        ...


class LateRedaction:
    """Redacts a state, after it was stored, if its turn began before something was hidden or erased.

    An erasure takes its words out of what is stored and waits for turns that are in the transcript, as long
    as their cycle is open; an incognito turn is not. Looking after storing leaves no gap: what is stored
    later is looked at, what was stored earlier is found by the erasure itself.
    """

    def __init__(self) -> None:
        self.erased: Erased | None = None
        self.scrub: Callable[[], Awaitable[None]] | None = None
        """Empties the database's log of what was taken out."""
        self._turns: OrderedDict[str, tuple[str, datetime]] = OrderedDict()
        self._newest: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def redact_late(self, saver: Saver, thread: str, values: Mapping[str, Any]) -> None:
        """Redacts or deletes `thread`, in which a state of these values was just stored."""
        turn = self._turn(thread, values)
        if self.erased is None or turn is None or _waited_for(values):
            return
        gone = await self.erased(*turn)
        if gone is None:
            await saver.adelete_thread(thread)
        elif not gone or not await saver.aredact(thread, gone):
            return
        if self.scrub is not None:
            await self.scrub()

    def note_turn(self, thread: str, user: str, at: datetime) -> None:
        """A turn of `user`, which began at `at`, runs in `thread`."""
        self._turns[thread] = user, at
        self._turns.move_to_end(thread)
        while len(self._turns) > MOST:
            self._turns.popitem(last=False)

    def note_checkpoint(self, thread: str, namespace: str, checkpoint: str) -> None:
        """A state of this id is going to be stored."""
        self._newest[thread, namespace] = checkpoint
        self._newest.move_to_end((thread, namespace))
        while len(self._newest) > MOST:
            self._newest.popitem(last=False)

    def is_late_write(self, thread: str, namespace: str, checkpoint: str) -> bool:
        """Whether what was just written on top of a state came after a newer one: that one's look missed it.

        Nothing keeps a step's writes and the next state in order, which a busy machine shows.
        """
        return checkpoint < self._newest.get((thread, namespace), "")

    def owner(self, thread: str, values: Mapping[str, Any]) -> str | None:
        """The owner of a state; a state of a graph around ours belongs to the user of the thread's turn."""
        known = self._turns.get(thread)
        user, _ = turn_of(values)
        return user or (known[0] if known else None)

    def _turn(self, thread: str, values: Mapping[str, Any]) -> tuple[str, datetime] | None:
        """User and start of the thread's turn, remembered: the state of a graph around ours tells neither."""
        user, at = turn_of(values)
        if user and at is not None:
            self.note_turn(thread, user, at)
        return self._turns.get(thread)


def _waited_for(values: Mapping[str, Any]) -> bool:
    """Whether an erasure waits for the turn of this state: its cycle is open, and another state follows."""
    return bool(values.get("cycle_id")) and values.get("next_action") != END
