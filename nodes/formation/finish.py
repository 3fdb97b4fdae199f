"""Marks the cycle as formed."""

from thoughtcycle.memory.storage import Conflict
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate


async def finish(forming: FormationRun) -> FormationUpdate:
    """The last write of a run; after a crash before it, the run is repeated.

    Raises Conflict when the cycle has a newer reply by now, which gets a run of its own.
    """
    cycle = await forming.cycle()
    stored = await forming.memory.conversations.form_cycle(
        forming.user,
        cycle.id,
        judgement=forming.judgement,
        marks=cycle.marks,
        formation="done",
        expected=cycle,
    )
    if stored is None:
        raise Conflict
    return {"done": True}
