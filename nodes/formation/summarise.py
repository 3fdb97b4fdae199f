"""Makes the working summary of the chat anew, every few exchanges (HM-2)."""

from thoughtcycle.memory.rules import with_word_counts, with_working, working_due
from thoughtcycle.nodes.formation.roll_window import read_live_conversation
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate
from thoughtcycle.nodes.formation.summaries import working_summary


async def summarise(forming: FormationRun) -> FormationUpdate:
    """Makes it from the previous one and the judgements of the exchanges since."""
    cycle = await forming.cycle()
    talk = await read_live_conversation(forming)
    known = talk.memory
    if not working_due(known, forming.services.limits.working_every):  # done before a crash
        return {}
    since = {
        one.id: one.judgement
        for one in await forming.memory.transcript.cycles(forming.user, known.working_cycles)
    }
    told = [judgement for id in known.working_cycles if (judgement := since.get(id)) is not None]
    now = forming.services.clock()
    working = await working_summary(
        forming.mind, known.working, told, language=forming.language, now=cycle.message.at
    )
    after = with_word_counts(with_working(known, working, now), talk.recent)
    await forming.memory.conversations.keep_conversation_memory(after)
    return {}
