"""Brings deletion into the threads' states: masked when read, redacted when erased for good."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.redaction import NOTHING, Mask


class RedactableSaver(Protocol):
    """A saver of ours, as erasing needs it."""

    async def aredact(self, thread_id: str, mask: Mask) -> int:
        """Takes the words of `mask` out of a thread; how many stored things had any."""
        ...

    async def athreads_of(self, user: str) -> list[str]:
        """The threads whose state names `user` as theirs."""
        ...


@dataclass(frozen=True)
class _RedactableCheckpoints:
    """A saver as a place to erase from; equal for the same saver, so that it is redacted once."""

    saver: RedactableSaver
    memory: Memory = field(compare=False)

    async def __call__(self, user: str, chats: Sequence[str], mask: Mask) -> int:
        theirs = await self.saver.athreads_of(user)
        named = dict.fromkeys(thread for chat in chats for thread in threads_of(chat))
        known = {*chats, *theirs}
        more = [thread for thread in named if thread not in known and await self._free(user, thread)]
        return sum([await self.saver.aredact(thread, mask) for thread in (*sorted(known), *more)])

    async def _free(self, user: str, thread: str) -> bool:
        """Whether it is not another user's chat: somebody may have named a thread after it."""
        try:
            await self.memory.transcript.check_chat(user, thread)
        except NotAllowed:
            return False
        return True


def bound(memory: Memory, saver: object) -> None:
    """Has `saver` (one of ours) read states without hidden words, and redacted by every erasure of `memory`.

    What a turn that runs meanwhile stores after an erasure is redacted then.
    Nothing happens to another kind of saver: its states are out of reach. Doing it again changes nothing.
    """
    if not hasattr(saver, "aredact"):
        return

    ours = cast(Any, saver)
    ours.masks = lambda user: hidden_words(memory, user)
    ours.late.erased, ours.late.scrub = memory.erasure.hidden_since, memory.erasure.scrub
    memory.erasure.erase_also(_RedactableCheckpoints(ours, memory))


async def hidden_words(memory: Memory, user: str) -> Mask:
    """The words that no state of the user's may show; none while the database is away.

    Nothing of an old state is shown in a turn without memory.
    """
    return await memory.availability.read(lambda: memory.erasure.mask(user), NOTHING, anyway=True)


def threads_of(chat: str) -> list[str]:
    """The threads that a chat may belong to: it is named by its thread and the graphs around it."""
    parts = chat.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
