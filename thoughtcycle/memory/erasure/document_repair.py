"""Puts right a document that cannot be read: it goes, and its cycles wait for formation again."""

from datetime import datetime

from thoughtcycle.memory.model import Cycle
from thoughtcycle.memory.storage import Storage, StoredDocument


async def rebuild(storage: Storage, broken: StoredDocument, at: datetime) -> None:
    """Drops a broken document and marks the cycles that it was made of: formation makes it anew.

    They keep their judgements: no model is asked again. Running it again changes nothing.
    """
    for state in await storage.health.cycle_states(broken.user):
        if not state.open and (broken.kind == "profile" or state.chat == broken.id):
            await storage.transcript.amend_cycle(broken.user, state.id, pending_again)
    await storage.documents.drop(broken.user, (broken.kind, broken.id), at=at)


def pending_again(cycle: Cycle) -> Cycle:
    """`cycle` as formation finds it that has judged it already; one that it never looks at stays as it is."""
    return cycle.model_copy(update={"formation": "pending"}) if cycle.formation == "done" else cycle
