"""Forgets a user as a whole, and looks whether anything is left."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.model import STATUSES, item_space
from thoughtcycle.memory.storage import remove_left_parts

_PAGE = 500


@dataclass(frozen=True)
class Farewell:
    """The counts of an erased user, and of a scan afterwards."""

    erased: Mapping[str, int]
    """Table or collection → rows."""
    left: Mapping[str, int]
    """The same, after it; {} when nothing names the user or an id of theirs."""


class UserErasure:
    """A user goes."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._clock = core.clock
        self._storage = core.storage

    async def chats_of(self, user: str) -> list[str]:
        """The ids of the user's chats."""
        found: list[str] = []
        while page := await self._storage.chats.conversations(
            owned(user), after=found[-1] if found else None, limit=_PAGE
        ):
            found += [chat.id for chat in page]
        return found

    async def forget_user(self, user: str) -> Farewell:
        """Erases all that is kept of a user, for good, then looks for the user's id and all ids of theirs.

        The items that apps keep for the user go too, and unfinished exports and backups of dead processes.

        What stays is a hash of the id and a number, by which late writers are refused
        (NotAllowed('user_forgotten')). Checkpoints are not the memory's: delete those of `chats_of` first
        (graph.forgetting does). Running it again completes what was cut off.
        """
        await asyncio.to_thread(remove_left_parts)
        items = item_space(user)
        chats = {
            *await self.chats_of(user),
            *(state.id for state in await self._storage.health.cycle_states(user)),
        }
        ids = {items: await self._memories_of(items), user: chats | await self._memories_of(user)}
        erased, left = Counter[str](), Counter[str]()
        for space in ids:
            erased.update(await self._storage.users.forget(space, self._clock()))
        await self._storage.erasure.scrub()
        for space, known in ids.items():
            if known or space == user:
                left.update(await self._storage.users.traces(space, known))
        return Farewell(dict(erased), dict(left))

    async def _memories_of(self, space: str) -> set[str]:
        found: set[str] = set()
        after = 0
        while records := await self._storage.memories.listing(space, STATUSES, after=after, limit=_PAGE):
            found.update(record.id for record in records)
            after = records[-1].revision
        return found
