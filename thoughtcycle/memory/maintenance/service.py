"""How the memory is: what is wrong with it, and how much there is."""

from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.maintenance.doctor import IntegrityIssue, flaws, repair
from thoughtcycle.memory.model import item_space
from thoughtcycle.memory.storage import Census


class Maintenance:
    """Looks at a user's data as a whole, or at everybody's."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._storage = core.storage

    async def doctor(self, user: str | None = None, *, mend: bool = False) -> list[IntegrityIssue]:
        """What is wrong with the data of `user` – None: with everybody's, and with the database as a whole.

        With `mend` what can be repaired is repaired first; what is told is what is left.
        """
        found = []
        if mend and user is None:
            await self._storage.health.mend()
        for one in await self._storage.users.listing() if user is None else [owned(user), item_space(user)]:
            if mend:
                await repair(self._storage, one)
            found += await flaws(self._storage, one)
        told = await self._storage.health.integrity() if user is None else []
        return [*(IntegrityIssue("database", {"told": line}) for line in told), *found]

    async def stats(self, user: str) -> Census:
        """How many memories (by status and kind), chats, cycles and changes a user has, and their bytes."""
        return await self._storage.users.census(owned(user))
