"""Marks the cycle as understood, with the layers in which it is seen (LM-6)."""

from thoughtcycle.memory.marks import marks_of
from thoughtcycle.memory.storage.base import Conflict
from thoughtcycle.nodes.formation.forming import Forming
from thoughtcycle.nodes.formation.state import FormationUpdate


async def finish(forming: Forming) -> FormationUpdate:
    """The last write of a run: whatever a crash left undone before it is done again.

    Raises Conflict when the cycle has a newer reply by now, which is understood in its turn.
    """
    cycle = await forming.cycle()
    reply = "\n".join(text.text for text in cycle.replies)
    kept = await forming.memory.form_cycle(
        forming.user,
        cycle.id,
        judgement=forming.judgement,
        marks=marks_of(cycle.message.text, reply, cycle.message.at),
        formation="done",
        expected=cycle,
    )
    if kept is None:
        raise Conflict
    return {"done": True}
