"""Forgets a user as a whole, and looks whether anything is left."""

from collections.abc import Mapping
from dataclasses import dataclass

from thoughtcycle.memory.engine import Engine, owned

_PAGE = 500


@dataclass(frozen=True)
class Farewell:
    """What was erased of a user, and what a scan found afterwards."""

    erased: Mapping[str, int]
    """Table or collection → rows."""
    left: Mapping[str, int]
    """The same, after it; {} when nothing names the user or an id of theirs."""


class Leaving(Engine):
    """A user goes."""

    async def chats_of(self, user: str) -> list[str]:
        """The ids of the user's chats."""
        found: list[str] = []
        while page := await self._storage.conversations(
            owned(user), after=found[-1] if found else None, limit=_PAGE
        ):
            found += [chat.id for chat in page]
        return found

    async def forget_user(self, user: str) -> Farewell:
        """Erases all that is kept of a user, for good, then looks for the user's id and all ids of theirs.

        What stays is a hash of the id and a number, by which late writers are refused
        (NotAllowed('user_forgotten')). Checkpoints are not the memory's: delete those of `chats_of` first
        (graph.forgetting does). Running it again completes what was cut off.
        """
        ids = {*await self.chats_of(user), *(state.id for state in await self._storage.cycle_states(user))}
        after = 0
        while records := await self._storage.page(user, after=after, limit=_PAGE):
            ids.update(record.id for record in records)
            after = records[-1].revision
        erased = await self._storage.forget(user, self._clock())
        await self._storage.scrub()
        await self._spaces.drop_snapshot(user)
        return Farewell(erased, await self._storage.traces(user, ids))
