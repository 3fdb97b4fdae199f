"""Opens the cycle durably and recalls, unasked, what the message is about; no chat model is called."""

import asyncio
import logging
from collections.abc import Collection
from datetime import datetime
from functools import partial

from thoughtcycle.budget import clip_middle
from thoughtcycle.errors import ModelFailed
from thoughtcycle.language.intents import asks_not_to_keep
from thoughtcycle.language.parse import message_contexts, situation_contexts
from thoughtcycle.memory.briefing import Material, Plan, beside, gathered, made, on_branch
from thoughtcycle.memory.briefing import without as left_out
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, Utterance
from thoughtcycle.memory.search import WAIT_SECONDS
from thoughtcycle.memory.text import without_secrets
from thoughtcycle.nodes.attachments import with_attachments
from thoughtcycle.nodes.base import window as windows
from thoughtcycle.nodes.base.cycle import open_cycle
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.message import user_message
from thoughtcycle.nodes.base.run import WORDS_ONLY
from thoughtcycle.nodes.base.state import Briefing, BriefSection, StateUpdate
from thoughtcycle.nodes.base.turn import Turn, short_form
from thoughtcycle.prompts.loader import Language

log = logging.getLogger(__name__)


async def recall(turn: Turn) -> StateUpdate:
    """The window, the memory block and what it shows; the cycle stands before anything is answered.

    What the thread recalled earlier is read again: another thread may have changed or deleted it.
    """
    cycle = await open_cycle(turn)
    return await turn.memory.availability.read(lambda: recalled_now(turn, cycle), unread(turn, cycle))


def unread(turn: Turn, cycle: Cycle | None) -> StateUpdate:
    """The turn without memory: nothing is shown that could not be checked, and nothing false is said."""
    away = turn.texts("cycle")["briefing_away"]
    return {
        "cycle_id": cycle.id if cycle else None,
        "window": [],
        "briefing": with_files(turn, Briefing(text=away, shown=[], left_out=0, tokens=0)),
        "recalled": [],
    }


async def recalled_now(turn: Turn, cycle: Cycle | None) -> StateUpdate:
    """The state update with memory at hand: window, briefing and recalled memories."""
    recalled = {memory["id"]: memory for memory in turn.state.get("recalled", ())}
    material, (cycles, recent), changed = await asyncio.gather(  # reads that do not depend on one another
        gathered_for(turn, cycle),
        recent_messages(turn, cycle.parent if cycle else None),
        turn.memory.search_service.changed(
            turn.user, {id: memory["revision"] for id, memory in recalled.items()}
        ),
    )
    known = {id: memory for id, memory in recalled.items() if id not in changed}
    known |= {
        record.id: short_form(without_secrets(record)) for record in changed.values() if record is not None
    }
    briefing = with_files(turn, brief(turn, beside(material, cycles)))
    told = frozenset(briefing["shown"])
    records = [hit.shown for hit in material.found.hits if hit.record.id in told]
    if not turn.context.incognito:
        turn.memory.recall.accessed(turn.user, [record.id for record in records])
    shown = {record.id: short_form(without_secrets(record)) for record in records}
    return {
        "cycle_id": cycle.id if cycle else None,
        "window": windows.fit(recent, turn.services.limits.window_tokens),
        "briefing": briefing,
        "paused": material.paused,
        "recalled": [*(known | shown).values()][-turn.services.limits.recalled :],
    }


async def gathered_for(turn: Turn, cycle: Cycle | None) -> Material:
    """The material of the briefing for the turn's message; of this chat only the branch of its cycle."""
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
    """The material of the briefing for a message, by rules and one embedding; by words without the model."""
    query, calls_for = query_of(message, language), situation_contexts(message, language)
    gather = partial(
        gathered, memory, user, chat, query, plan, now=now, calls_for=calls_for, unsaid=asks_not_to_keep
    )
    try:
        return await gather()
    except ModelFailed as failure:
        log.warning("recalling by words alone: %s", failure.code)
        return await gather(vector=WORDS_ONLY)


def query_of(message: str, language: Language) -> str:
    """The search query: the message, of a long one head and tail, with its topics."""
    query = clip_middle(message, 2_000)
    return " ".join([query, *message_contexts(query, language)])


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
    return with_attachments(briefing, turn.state.get("attached", ()), turn.texts("cycle"))


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
        mask = await turn.memory.erasure.mask(turn.user)
        recent = windows.masked(windows.of_messages(before, limits.window_cycles), mask)
    return cycles, recent


async def rebrief(turn: Turn, without: Collection[str]) -> StateUpdate:
    """Window and memory block of this turn made again, after the memories `without` were hidden."""
    id = turn.state.get("cycle_id")
    cycle = await turn.memory.transcript.cycle(turn.user, id) if id is not None else None
    material, (cycles, recent) = await asyncio.gather(
        gathered_for(turn, cycle), recent_messages(turn, turn.state.get("parent"))
    )
    window = windows.fit(recent, turn.services.limits.window_tokens)
    briefing = with_files(turn, brief(turn, left_out(beside(material, cycles), without)))
    return {"briefing": briefing, "window": window}
