"""Compresses the memory of the chat when it is nearly full; every number and date stays (CM-5, CM-6)."""

from thoughtcycle.memory.compression import Shorten, finished, next_step, rolled_up, shortened
from thoughtcycle.memory.volume import compression_due
from thoughtcycle.nodes.formation.age import talk_of, whole
from thoughtcycle.nodes.formation.compressing import compress as shorter
from thoughtcycle.nodes.formation.forming import Forming
from thoughtcycle.nodes.formation.rolling_up import roll_up
from thoughtcycle.nodes.formation.state import FormationUpdate


async def compress(forming: Forming) -> FormationUpdate:
    """Step by step until the goal is met or nothing is left to do; written once, at the end."""
    volume = forming.services.limits.volume
    talk = await talk_of(forming)
    if not compression_due(talk.memory, volume):
        return {}
    given = memory = await whole(forming, talk.memory)
    now, language = forming.services.clock(), forming.language
    while (step := next_step(memory, talk.recent, volume)) is not None:
        before = memory
        if isinstance(step, Shorten):
            answers = await shorter(forming.mind, step, language=language, now=now)
            memory = shortened(memory, step, answers)
        else:
            answer = await roll_up(forming.mind, step, language=language, now=now)
            memory = rolled_up(memory, step, answer)
        if memory == before:
            break
    done = finished(memory, talk.recent, volume, now, changed=memory != given)
    if done != given:
        await forming.memory.keep_conversation_memory(done)
    return {}
