"""Reads the cycle and decides by rules whether it is worth a judgement (SM-2, SM-3)."""

import asyncio

from thoughtcycle.nodes.formation.run import FormationRun, digest_of, exchange_of
from thoughtcycle.nodes.formation.state import FormationUpdate

_DONE: FormationUpdate = {"done": True, "dropped": None, "judgement": None}


async def filter_exchange(forming: FormationRun) -> FormationUpdate:
    """Applies the relevance filter to a pending cycle; any other is done.

    While the user has paused memory, no cycle is analysed (BY-10).
    """
    memory, user = forming.memory, forming.user
    wanted = forming.state.get("cycle_id") or ""
    if not wanted:
        wanted = next((cycle.id for cycle in await memory.conversations.pending_cycles(user, limit=1)), "")
    cycle = await memory.transcript.cycle(user, wanted) if wanted else None
    if cycle is not None:
        await forming.unlearn_again(cycle)
    if cycle is None or cycle.formation != "pending":
        return {**_DONE, "cycle_id": wanted}
    if (await memory.settings(user)).paused:
        await memory.conversations.form_cycle(
            user, cycle.id, judgement=None, marks=(), formation="none", expected=cycle
        )
        return {**_DONE, "cycle_id": cycle.id}
    exchange = exchange_of(cycle, forming)
    verdict = await asyncio.to_thread(lambda: exchange.verdict)
    return {
        "cycle_id": cycle.id,
        "chat": cycle.chat,
        "digest": digest_of(cycle),
        "language": exchange.language,
        "dropped": None if verdict.passed else verdict.reason,
        "judgement": cycle.judgement and cycle.judgement.model_dump(mode="json"),
        "done": False,
    }
