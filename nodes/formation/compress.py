"""Compresses the memory of the chat when it is nearly full; every number and date stays (CM-5, CM-6)."""

from thoughtcycle.memory.rules import Shorten, compression_due, finished, next_step, rolled_up, shortened
from thoughtcycle.nodes.formation.roll_window import read_live_conversation, whole_memory
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate
from thoughtcycle.nodes.formation.summaries import roll_up, shorten_pieces


async def compress(forming: FormationRun) -> FormationUpdate:
    """Compresses step by step until the goal is met or nothing is left to do; writes once, at the end."""
    volume = forming.services.limits.volume
    talk = await read_live_conversation(forming)
    if not compression_due(talk.memory, volume):
        return {}
    given = memory = await whole_memory(forming, talk.memory)
    now, language = forming.services.clock(), forming.language
    while (step := next_step(memory, talk.recent, volume)) is not None:
        before = memory
        if isinstance(step, Shorten):
            answers = await shorten_pieces(forming.mind, step, language=language, now=now)
            memory = shortened(memory, step, answers)
        else:
            answer = await roll_up(forming.mind, step, language=language, now=now)
            memory = rolled_up(memory, step, answer)
        if memory == before:
            break
    done = finished(memory, talk.recent, volume, now, changed=memory != given)
    if done != given:
        await forming.memory.conversations.keep_conversation_memory(done)
    return {}
