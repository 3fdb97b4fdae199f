"""Opens the cycle and builds window and briefing for the message; no chat model is called."""

import asyncio
import logging
from collections.abc import Collection
from datetime import datetime
from functools import partial

from thoughtcycle.errors import ModelFailed
from thoughtcycle.language.intents import asks_not_to_keep
from thoughtcycle.language.parse import message_contexts, situation_contexts
from thoughtcycle.memory.briefing import BriefingOptions, Material, build_brief, read_material
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, Utterance
from thoughtcycle.memory.search import WAIT_SECONDS
from thoughtcycle.memory.text.secrets import holds_secret, without_secrets
from thoughtcycle.nodes.attachments import with_attachments
from thoughtcycle.nodes.base import recent_window as windows
from thoughtcycle.nodes.base.cycle import open_cycle
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.message import user_message
from thoughtcycle.nodes.base.redaction import redacted_state
from thoughtcycle.nodes.base.run import WORDS_ONLY
from thoughtcycle.nodes.base.state import Briefing, BriefSection, StateUpdate
from thoughtcycle.nodes.base.turn import Turn, short_form
from thoughtcycle.prompts.loader import Language
from thoughtcycle.text_clipping import clip_middle

log = logging.getLogger(__name__)


async def recall(turn: Turn) -> StateUpdate:
    """Opens the cycle, then gives the window, the briefing and the memories in it.

    While the database is away, the briefing says so and shows nothing else.
    """
    cycle = await open_cycle(turn)
    away = Briefing(text=turn.texts("cycle")["briefing_away"], shown=[], left_out=0, tokens=0)
    unread = {"window": [], "briefing": _with_files(turn, away), "recalled": []}
    update = await turn.memory.availability.read(lambda: _recalled(turn, cycle), unread)
    return {**update, "cycle_id": cycle.id if cycle else None}


async def _recalled(turn: Turn, cycle: Cycle | None) -> StateUpdate:
    """The update with the database at hand; memories recalled earlier are read again where they changed."""
    recalled = {memory["id"]: memory for memory in turn.state.get("recalled", ())}
    shown = {id for id, memory in recalled.items() if holds_secret(memory["content"])}  # an answer before
    revisions = {id: -1 if id in shown else memory["revision"] for id, memory in recalled.items()}
    material, (cycles, window), changed = await asyncio.gather(  # independent reads
        _gather(turn, cycle),
        _recent(turn, cycle.parent if cycle else None),
        turn.memory.search_service.changed(turn.user, revisions),
    )
    known = {id: memory for id, memory in recalled.items() if id not in changed}
    reread = [record for record in changed.values() if record is not None]
    briefing = _briefing(turn, material.with_recent(cycles))
    records = [hit.shown for hit in material.found.hits if hit.record.id in briefing["shown"]]
    if not turn.context.incognito:
        turn.memory.recall.accessed(turn.user, [record.id for record in records])
    known |= {record.id: short_form(without_secrets(record)) for record in (*reread, *records)}
    return {
        "window": window,
        "briefing": briefing,
        "paused": material.paused,
        "recalled": [*known.values()][-turn.services.limits.recalled :],
    }


async def _gather(turn: Turn, cycle: Cycle | None) -> Material:
    """The material of the turn's briefing; of this chat only the branch of its cycle."""
    plan = plan_of(turn.services.limits, smart=turn.context.smart_context)
    gathering = gather_material(
        turn.memory, turn.user, turn.chat, turn.message, plan, now=turn.now(), language=turn.language
    )
    if cycle is None:
        return await gathering
    material, abandoned = await asyncio.gather(
        gathering, turn.memory.left_behind(turn.user, turn.chat, cycle)
    )
    return material.without_cycles(abandoned)


async def gather_material(
    memory: Memory,
    user: str,
    chat: str,
    message: str,
    plan: BriefingOptions,
    *,
    now: datetime,
    language: Language,
) -> Material:
    """The material of the briefing for a message; by words alone without the embedding model."""
    query, calls_for = query_of(message, language), situation_contexts(message, language)
    gather = partial(
        read_material, memory, user, chat, query, plan, now=now, calls_for=calls_for, unsaid=asks_not_to_keep
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


def plan_of(limits: Limits, *, smart: bool | None) -> BriefingOptions:
    """The briefing that a deployment and a run want; `smart` None: as the user has set it."""
    return BriefingOptions(
        tokens=limits.briefing_tokens,
        recipe=limits.briefing_recipe,
        facts=limits.briefing_facts,
        smart=smart,
        patience=WAIT_SECONDS,
    )


def _briefing(turn: Turn, material: Material) -> Briefing:
    """The briefing within its budget, its account, and the files of this turn's message."""
    plan = plan_of(turn.services.limits, smart=turn.context.smart_context)
    done = build_brief(material, plan, turn.language)
    sections = [
        BriefSection(section=one.name, shown=[*one.shown], left_out=one.left_out, tokens=one.tokens)
        for one in done.sections
    ]
    briefing = Briefing(
        text=done.text,
        session=done.session,
        shown=[*done.shown],
        left_out=done.left_out,
        tokens=done.tokens,
        sections=sections,
    )
    return _with_files(turn, briefing)


def _with_files(turn: Turn, briefing: Briefing) -> Briefing:
    return with_attachments(briefing, turn.state.get("attached", ()), turn.texts("cycle"))


async def _recent(turn: Turn, tip: str | None) -> tuple[list[Cycle], list[Utterance]]:
    """The last complete cycles before this one, and the window: of them, else of the thread's messages."""
    limits = turn.services.limits
    cycles: list[Cycle] = []
    if tip is not None:
        cycles = await turn.memory.conversation(turn.user, turn.chat, limit=limits.window_cycles, tip=tip)
    recent = windows.of_cycles(cycles)
    if not recent:
        messages = turn.state["messages"]
        before = messages[: messages.index(user_message(messages))]
        mask = await turn.memory.erasure.mask(turn.user)
        recent = windows.masked(windows.of_messages(before, limits.window_cycles), mask)
    return cycles, windows.fit(recent, limits.window_tokens)


async def rebrief(turn: Turn, changed: Collection[str], hidden: Collection[str]) -> StateUpdate:
    """The state after memories were changed or hidden within the turn, without their former text.

    Window and briefing are made again; steps and replies of this turn lose the words of what is hidden.
    While the database is away, nothing of memory is shown.
    """
    away = Briefing(text=turn.texts("cycle")["briefing_away"], shown=[], left_out=0, tokens=0)
    unread: StateUpdate = {"window": [], "briefing": _with_files(turn, away)}
    return await turn.memory.availability.read(lambda: _rebriefed(turn, changed, hidden), unread)


async def _rebriefed(turn: Turn, changed: Collection[str], hidden: Collection[str]) -> StateUpdate:
    id = turn.state.get("cycle_id")
    cycle = await turn.memory.transcript.cycle(turn.user, id) if id is not None else None
    material, (cycles, window), gone = await asyncio.gather(
        _gather(turn, cycle),
        _recent(turn, turn.state.get("parent")),
        turn.memory.erasure.hidden_since(turn.user, turn.at),
    )
    said = {"at": turn.state.get("at"), "steps": turn.state.get("steps", []), "messages": turn.replies()}
    redacted = redacted_state(said, gone) if gone else {}
    briefing = _briefing(turn, material.with_recent(cycles).renewed(changed, hidden))
    return {**redacted, "briefing": briefing, "window": window}
