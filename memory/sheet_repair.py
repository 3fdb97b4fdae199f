"""Puts right a sheet that cannot be read: it goes, and its cycles wait for formation again."""

from collections.abc import Callable
from datetime import datetime

from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.sheet_loading import dumped, salvaged
from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.memory.storage.sheet_port import Sheet


class SheetRepair:
    """Builds broken sheets anew; running it again changes nothing."""

    def __init__(self, storage: Storage, clock: Callable[[], datetime]) -> None:
        self._storage, self._clock = storage, clock

    async def rebuild(self, sheet: Sheet) -> None:
        """Drops a broken sheet and marks the cycles that it was made of, so that formation makes it anew.

        They keep their judgements: no model is asked again. Of settings what can be read stays; where it
        cannot be read whether collection is paused, it is.
        """
        user, name = sheet.user, (sheet.kind, sheet.id)
        if sheet.kind == "settings":
            before = sheet.revision
            if sheet.flaw is not None:
                await self._storage.drop_sheet(user, name, at=self._clock())
                before = (await self._storage.sheets(user, [name]))[0].revision
            document = dumped(salvaged(sheet), before + 1).document
            await self._storage.put_sheet(user, name, document, before=before, at=self._clock())
            return
        for state in await self._storage.cycle_states(user):
            if not state.open and (sheet.kind == "profile" or state.chat == sheet.id):
                await self._storage.amend_cycle(user, state.id, pending_again)
        await self._storage.drop_sheet(user, name, at=self._clock())


def pending_again(cycle: Cycle) -> Cycle:
    """`cycle` as formation finds it that has judged it already; one that it never looks at stays as it is."""
    return cycle.model_copy(update={"formation": "pending"}) if cycle.formation == "done" else cycle
