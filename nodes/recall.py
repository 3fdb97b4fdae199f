"""Opens the cycle durably and recalls, unasked, what the message is about; no chat model is called."""

import asyncio
from collections.abc import Collection, Sequence

from thoughtcycle.memory.briefing import compact
from thoughtcycle.memory.records import Cycle, MemoryHit, Utterance
from thoughtcycle.mind.language.understanding import topics_of
from thoughtcycle.nodes import window as windows
from thoughtcycle.nodes.cycle import open_cycle
from thoughtcycle.nodes.message import user_message
from thoughtcycle.nodes.state import Briefing, StateUpdate
from thoughtcycle.nodes.turn import Turn, short_form
from thoughtcycle.prompts.errors import StorageFailed


async def recall(turn: Turn) -> StateUpdate:
    """The window, the memory block and what it shows; the cycle stands before anything is answered.

    What the thread recalled earlier is read again: another thread may have changed or deleted it.
    """
    cycle = await open_cycle(turn)
    if not turn.memory.unreadable:
        try:
            return await recalled_now(turn, cycle)
        except StorageFailed as failure:
            if not turn.memory.lost(failure):
                raise
    return await unread(turn, cycle)


async def unread(turn: Turn, cycle: Cycle | None) -> StateUpdate:
    """The turn without memory: nothing is shown that could not be checked, and nothing false is said."""
    return {
        "messages": await turn.outage_told(),
        "cycle_id": cycle.id if cycle else None,
        "window": [],
        "briefing": Briefing(text=turn.texts("cycle")["briefing_away"], shown=[], left_out=0, tokens=0),
        "recalled": [],
    }


async def recalled_now(turn: Turn, cycle: Cycle | None) -> StateUpdate:
    """What is read at the beginning of a turn."""
    recalled = {memory["id"]: memory for memory in turn.state.get("recalled", ())}
    hits, recent, changed = await asyncio.gather(  # reads that do not depend on one another
        passive_hits(turn),
        recent_messages(turn, cycle.parent if cycle else None),
        turn.memory.changed(turn.user, {id: memory["revision"] for id, memory in recalled.items()}),
    )
    known = {id: memory for id, memory in recalled.items() if id not in changed}
    known |= {record.id: short_form(record) for record in changed.values() if record is not None}
    briefing = brief(turn, hits)
    shown = {hit.record.id: short_form(hit.record) for hit in hits if hit.record.id in briefing["shown"]}
    return {
        "messages": await turn.outage_told(),
        "cycle_id": cycle.id if cycle else None,
        "window": windows.fit(recent, turn.services.limits.window_tokens),
        "briefing": briefing,
        "recalled": [*(known | shown).values()][-turn.services.limits.recalled :],
    }


async def passive_hits(turn: Turn) -> list[MemoryHit]:
    """What the message is about, by rules and one embedding."""
    limits = turn.services.limits
    if not limits.briefing_facts:
        return []
    query = windows.clip(turn.message, 2_000)
    query = " ".join([query, *topics_of(query, turn.language)])
    return await turn.find(query, limits.briefing_facts)


def brief(turn: Turn, hits: Sequence[MemoryHit]) -> Briefing:
    """The memory block within its budget, and its account."""
    made = compact(
        hits, heading=turn.texts("cycle")["memory_heading"], tokens=turn.services.limits.briefing_tokens
    )
    return Briefing(text=made.text, shown=list(made.shown), left_out=made.left_out, tokens=made.tokens)


async def recent_messages(turn: Turn, tip: str | None) -> list[Utterance]:
    """The last complete cycles before this one: from the transcript, else from the thread's messages."""
    limits = turn.services.limits
    recent: list[Utterance] = []
    if tip is not None:
        cycles = await turn.memory.conversation(turn.user, turn.chat, limit=limits.window_cycles, tip=tip)
        recent = windows.of_cycles(cycles)
    if not recent:
        messages = turn.state["messages"]
        before = messages[: messages.index(user_message(messages))]
        mask = await turn.memory.mask(turn.user)
        recent = windows.masked(windows.of_messages(before, limits.window_cycles), mask)
    return recent


async def rebrief(turn: Turn, without: Collection[str]) -> StateUpdate:
    """Window and memory block of this turn made again, after the memories `without` were hidden."""
    hits, recent = await asyncio.gather(passive_hits(turn), recent_messages(turn, turn.state.get("parent")))
    left = [hit for hit in hits if hit.record.id not in without]
    window = windows.fit(recent, turn.services.limits.window_tokens)
    return {"briefing": brief(turn, left), "window": window}
