"""Opens the cycle durably and recalls, unasked, what the message is about; no chat model is called."""

import asyncio
import logging
from collections.abc import Collection
from datetime import datetime
from functools import partial

from thoughtcycle.memory.brief_gathering import Plan, beside, gathered, made, on_branch
from thoughtcycle.memory.brief_gathering import without as left_out
from thoughtcycle.memory.brief_sections import Material
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.recalling import WAIT_SECONDS
from thoughtcycle.memory.records import Cycle, Utterance
from thoughtcycle.memory.secrets import unasked
from thoughtcycle.mind.language.situations import situation_contexts
from thoughtcycle.mind.language.understanding import topics_of
from thoughtcycle.mind.language.unsaying import unsays
from thoughtcycle.nodes import window as windows
from thoughtcycle.nodes.attach import beside as attached_beside
from thoughtcycle.nodes.cycle import open_cycle
from thoughtcycle.nodes.limits import Limits
from thoughtcycle.nodes.message import user_message
from thoughtcycle.nodes.run import WORDS_ONLY
from thoughtcycle.nodes.state import Briefing, BriefSection, StateUpdate
from thoughtcycle.nodes.turn import Turn, short_form
from thoughtcycle.prompts.errors import ModelFailed, StorageFailed
from thoughtcycle.prompts.loader import Language

log = logging.getLogger(__name__)


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
    away = turn.texts("cycle")["briefing_away"]
    return {
        "messages": await turn.outage_told(),
        "cycle_id": cycle.id if cycle else None,
        "window": [],
        "briefing": with_files(turn, Briefing(text=away, shown=[], left_out=0, tokens=0)),
        "recalled": [],
    }


async def recalled_now(turn: Turn, cycle: Cycle | None) -> StateUpdate:
    """What is read at the beginning of a turn."""
    recalled = {memory["id"]: memory for memory in turn.state.get("recalled", ())}
    material, (cycles, recent), changed = await asyncio.gather(  # reads that do not depend on one another
        gathered_for(turn, cycle),
        recent_messages(turn, cycle.parent if cycle else None),
        turn.memory.changed(turn.user, {id: memory["revision"] for id, memory in recalled.items()}),
    )
    known = {id: memory for id, memory in recalled.items() if id not in changed}
    known |= {record.id: short_form(unasked(record)) for record in changed.values() if record is not None}
    briefing = with_files(turn, brief(turn, beside(material, cycles)))
    told = frozenset(briefing["shown"])
    records = [hit.shown for hit in material.found.hits if hit.record.id in told]
    if not turn.context.incognito:
        turn.memory.accessed(turn.user, [record.id for record in records])
    shown = {record.id: short_form(unasked(record)) for record in records}
    return {
        "messages": await turn.outage_told(),
        "cycle_id": cycle.id if cycle else None,
        "window": windows.fit(recent, turn.services.limits.window_tokens),
        "briefing": briefing,
        "paused": material.paused,
        "recalled": [*(known | shown).values()][-turn.services.limits.recalled :],
    }


async def gathered_for(turn: Turn, cycle: Cycle | None) -> Material:
    """What the message of the turn brings to mind, of this chat what leads to its cycle."""
    plan = plan_of(turn.services.limits, smart=turn.context.smart_context)
    reminding = reminded(
        turn.memory, turn.user, turn.chat, turn.message, plan, now=turn.now(), language=turn.language
    )
    if cycle is None:
        return await reminding
    material, left = await asyncio.gather(reminding, turn.memory.left_behind(turn.user, turn.chat, cycle))
    return on_branch(material, left)


async def reminded(
    memory: Memory, user: str, chat: str, message: str, plan: Plan, *, now: datetime, language: Language
) -> Material:
    """What a message brings to mind, by rules and one embedding; without that by words."""
    query, calls_for = query_of(message, language), situation_contexts(message, language)
    gather = partial(gathered, memory, user, chat, query, plan, now=now, calls_for=calls_for, unsaid=unsays)
    try:
        return await gather()
    except ModelFailed as failure:
        log.warning("recalling by words alone: %s", failure.code)
        return await gather(vector=WORDS_ONLY)


def query_of(message: str, language: Language) -> str:
    """What is looked for: the message, of a long one head and tail, with its topics."""
    query = windows.clip(message, 2_000)
    return " ".join([query, *topics_of(query, language)])


def plan_of(limits: Limits, *, smart: bool | None) -> Plan:
    """The briefing that a deployment and a run want; `smart` None: as the user has set it."""
    return Plan(
        tokens=limits.briefing_tokens,
        recipe=limits.briefing_recipe,
        facts=limits.briefing_facts,
        smart=smart,
        patience=WAIT_SECONDS,
    )


def with_files(turn: Turn, briefing: Briefing) -> Briefing:
    """The briefing with the files of this turn's message."""
    return attached_beside(briefing, turn.state.get("attached", ()), turn.texts("cycle"))


def brief(turn: Turn, material: Material) -> Briefing:
    """The memory block within its budget, and its account."""
    done = made(material, plan_of(turn.services.limits, smart=turn.context.smart_context), turn.language)
    sections = [
        BriefSection(section=one.name, shown=[*one.shown], left_out=one.left_out, tokens=one.tokens)
        for one in done.sections
    ]
    return Briefing(
        text=done.text,
        session=done.session,
        shown=[*done.shown],
        left_out=done.left_out,
        tokens=done.tokens,
        sections=sections,
    )


async def recent_messages(turn: Turn, tip: str | None) -> tuple[list[Cycle], list[Utterance]]:
    """The last complete cycles before this one: from the transcript, else from the thread's messages."""
    limits = turn.services.limits
    cycles: list[Cycle] = []
    recent: list[Utterance] = []
    if tip is not None:
        cycles = await turn.memory.conversation(turn.user, turn.chat, limit=limits.window_cycles, tip=tip)
        recent = windows.of_cycles(cycles)
    if not recent:
        messages = turn.state["messages"]
        before = messages[: messages.index(user_message(messages))]
        mask = await turn.memory.mask(turn.user)
        recent = windows.masked(windows.of_messages(before, limits.window_cycles), mask)
    return cycles, recent


async def rebrief(turn: Turn, without: Collection[str]) -> StateUpdate:
    """Window and memory block of this turn made again, after the memories `without` were hidden."""
    id = turn.state.get("cycle_id")
    cycle = await turn.memory.cycle(turn.user, id) if id is not None else None
    material, (cycles, recent) = await asyncio.gather(
        gathered_for(turn, cycle), recent_messages(turn, turn.state.get("parent"))
    )
    window = windows.fit(recent, turn.services.limits.window_tokens)
    briefing = with_files(turn, brief(turn, left_out(beside(material, cycles), without)))
    return {"briefing": briefing, "window": window}
