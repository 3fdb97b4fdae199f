"""Makes the working summary of the chat anew, every few exchanges (HM-2)."""

from thoughtcycle.memory.ageing import with_working, working_due
from thoughtcycle.memory.volume import counted
from thoughtcycle.nodes.formation.age import talk_of
from thoughtcycle.nodes.formation.forming import Forming
from thoughtcycle.nodes.formation.state import FormationUpdate
from thoughtcycle.nodes.formation.working_summary import working_summary


async def summarise(forming: Forming) -> FormationUpdate:
    """From the previous one and the judgements of the exchanges since."""
    cycle = await forming.cycle()
    talk = await talk_of(forming)
    known = talk.memory
    if not working_due(known, forming.services.limits.working_every):  # done before a crash
        return {}
    since = {one.id: one.judgement for one in await forming.memory.cycles(forming.user, known.working_cycles)}
    told = [judgement for id in known.working_cycles if (judgement := since.get(id)) is not None]
    now = forming.services.clock()
    working = await working_summary(
        forming.mind, known.working, told, language=forming.language, now=cycle.message.at
    )
    after = counted(with_working(known, working, now), talk.recent)
    await forming.memory.keep_conversation_memory(after)
    return {}
