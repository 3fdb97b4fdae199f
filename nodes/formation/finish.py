"""Marks the cycle as understood."""

from thoughtcycle.memory.storage import Conflict
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate


async def finish(forming: FormationRun) -> FormationUpdate:
    """The last write of a run: whatever a crash left undone before it is done again.

    Raises Conflict when the cycle has a newer reply by now, which is understood in its turn.
    """
    cycle = await forming.cycle()
    kept = await forming.memory.conversations.form_cycle(
        forming.user,
        cycle.id,
        judgement=forming.judgement,
        marks=cycle.marks,
        formation="done",
        expected=cycle,
    )
    if kept is None:
        raise Conflict
    return {"done": True}
