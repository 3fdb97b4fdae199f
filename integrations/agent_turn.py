"""A turn of somebody else's agent, as the memory takes part in it: what is kept, what its model is told."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from thoughtcycle.integrations.caller import Setup
from thoughtcycle.integrations.recording import opened
from thoughtcycle.memory.brief_gathering import beside, made
from thoughtcycle.memory.formed import UserSettings
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import Cycle, CycleMessage, utc_now
from thoughtcycle.mind.prompting import data_block
from thoughtcycle.nodes.context import Context
from thoughtcycle.nodes.message import clean
from thoughtcycle.nodes.recall import plan_of, reminded
from thoughtcycle.nodes.settling import Settled, settle_language, settle_time_zone
from thoughtcycle.prompts.errors import InputRefused, StorageFailed
from thoughtcycle.prompts.loader import Language, texts

log = logging.getLogger(__name__)

WINDOW = 20
"""Cycles at most of which it is asked whether the agent shows them to its model anyway."""


@dataclass(frozen=True)
class AgentTurn:
    """What the user says to the agent, and where."""

    context: Context
    chat: str
    text: str
    message_id: str
    """Of the user's message: the same message is the same cycle."""
    seen: Sequence[str]
    """Ids of the earlier messages that the agent's model is shown anyway."""
    setup: Setup

    @property
    def user(self) -> str:
        """Whose memory this is."""
        return self.context.user_id


@dataclass(frozen=True)
class Told:
    """What is put before the agent's model."""

    text: str
    shown: tuple[str, ...] = ()
    """Ids of the memories in it."""
    paused: bool = False
    """The user has paused: nothing is learned from this turn."""


async def kept(memory: Memory, turn: AgentTurn, parent: str | None) -> str | None:
    """The id of the cycle in which the user's message is kept before anything is answered.

    `parent`: the cycle before it on the agent's own branch; None: the last of the chat. None is given in
    incognito, for a message that cannot be kept, and with a memory out of reach, which is logged.
    Raises NotAllowed('chat_of_another').
    """
    try:
        text = None if turn.context.incognito else _keepable(turn)
        if text is None:
            await memory.check_chat(turn.user, turn.chat)
            return None
        at = utc_now().astimezone(ZoneInfo((await _settled(memory, turn)).time_zone))
        said = CycleMessage(id=turn.message_id, role="user", text=text, at=at)
        channel = turn.context.channel
        return (await opened(memory, turn.user, turn.chat, said, parent=parent, channel=channel)).id
    except StorageFailed as failure:
        memory.lost(failure)
        log.warning("the turn is not kept: %s", failure.code)
        return None


async def briefed(memory: Memory, turn: AgentTurn, *, counted: bool) -> Told:
    """What the user's message brings to mind, within its budget.

    `counted`: the memories shown count as accessed (LM-9). With a memory out of reach, which is logged, the
    model is told that nothing could be looked up.
    """
    try:
        if not memory.unreadable:
            return await _briefed(memory, turn, counted=counted and not turn.context.incognito)
    except StorageFailed as failure:
        memory.lost(failure)
        log.warning("no briefing: %s", failure.code)
    return Told(texts(_spoken(turn), "cycle")["briefing_away"])


async def _briefed(memory: Memory, turn: AgentTurn, *, counted: bool) -> Told:
    language, zone = await _settled(memory, turn)
    plan = plan_of(turn.setup.limits, smart=turn.context.smart_context)
    now = utc_now().astimezone(ZoneInfo(zone))
    found = await reminded(memory, turn.user, turn.chat, turn.text, plan, now=now, language=language)
    brief = made(beside(found, await _window(memory, turn)), plan, language)
    if counted:
        memory.accessed(
            turn.user, [hit.record.id for hit in found.found.hits if hit.record.id in brief.shown]
        )
    if not brief.text and not brief.session:
        return Told("", paused=found.paused)
    frame = texts(language, "frame")
    text = f"{data_block(frame, [brief.text, brief.session])}\n{frame['use_memory']}"
    return Told(text, brief.shown, found.paused)


async def _window(memory: Memory, turn: AgentTurn) -> list[Cycle]:
    """The cycles that need no briefing, because the model sees their messages."""
    if turn.context.incognito or not turn.seen:
        return []
    last = await memory.conversation(turn.user, turn.chat, limit=min(len(turn.seen), WINDOW))
    return [cycle for cycle in last if cycle.message.id in turn.seen]


async def _settled(memory: Memory, turn: AgentTurn) -> Settled:
    stored = await memory.preferences(turn.user)
    language = settle_language(turn.context.language, stored, turn.text, turn.setup.language)
    return Settled(language, settle_time_zone(turn.context.time_zone, stored, turn.setup.time_zone))


def _spoken(turn: AgentTurn) -> Language:
    """The language as far as it can be told without the user's settings."""
    return settle_language(
        turn.context.language, UserSettings(user=turn.user), turn.text, turn.setup.language
    )


def _keepable(turn: AgentTurn) -> str | None:
    """The user's words as they may be kept; None where there are none."""
    try:
        return clean(turn.text, longest=turn.setup.limits.message_chars)
    except InputRefused as refusal:
        log.info("the turn is not kept: %s", refusal.code)
        return None
