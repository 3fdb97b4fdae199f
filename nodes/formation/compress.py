"""Compresses the memory of the chat when it is nearly full; every number and date stays (CM-5, CM-6)."""

from thoughtcycle.memory.rules import (
    Shorten,
    apply_roll_up,
    apply_shortening,
    compression_due,
    finish_compression,
    next_step,
)
from thoughtcycle.nodes.formation.roll_window import read_live_conversation, whole_memory
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate
from thoughtcycle.nodes.formation.summaries import roll_up, shorten_pieces


async def compress(forming: FormationRun) -> FormationUpdate:
    """Compresses step by step until the goal is met or nothing is left to do; writes once, at the end."""
    budget = forming.services.limits.word_budget
    talk = await read_live_conversation(forming)
    if not compression_due(talk.memory, budget):
        return {}
    given = memory = await whole_memory(forming, talk.memory)
    now, language = forming.services.clock(), forming.language
    while (step := next_step(memory, talk.recent, budget)) is not None:
        before = memory
        if isinstance(step, Shorten):
            answers = await shorten_pieces(forming.mind, step, language=language, now=now)
            memory = apply_shortening(memory, step, answers)
        else:
            answer = await roll_up(forming.mind, step, language=language, now=now)
            memory = apply_roll_up(memory, step, answer)
        if memory == before:
            break
    done = finish_compression(memory, talk.recent, budget, now, changed=memory != given)
    if done != given:
        await forming.memory.conversations.keep_conversation_memory(done)
    return {}
