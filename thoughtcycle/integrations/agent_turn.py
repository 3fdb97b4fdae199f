"""The memory's part in a foreign agent's turn: stores its messages as a cycle and briefs the model."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from thoughtcycle.errors import InputRefused, StorageFailed
from thoughtcycle.integrations.caller import Setup
from thoughtcycle.language.intents import forgets_everything
from thoughtcycle.memory.briefing import build_brief
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, CycleMessage, UserSettings, utc_now
from thoughtcycle.mind.prompting import data_block
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.locale import Locale, choose_language, choose_time_zone
from thoughtcycle.nodes.base.message import clean
from thoughtcycle.nodes.recall import gather_material, plan_of
from thoughtcycle.prompts.loader import texts

log = logging.getLogger(__name__)

WINDOW = 20
"""Number of last cycles that are compared with the messages in the agent's own prompt."""


@dataclass(frozen=True)
class AgentTurn:
    """The user's message to the agent, with its chat."""

    context: Context
    chat: str
    text: str
    message_id: str
    """Id of the user's message: the same message is the same cycle."""
    seen: Sequence[str]
    """Ids of the earlier messages that the agent's model is shown anyway."""
    setup: Setup

    @property
    def user(self) -> str:
        """The owner of the memory."""
        return self.context.user_id


@dataclass(frozen=True)
class AgentBriefing:
    """The text for the agent's model."""

    text: str
    shown: tuple[str, ...] = ()
    """Ids of the memories in it."""
    paused: bool = False
    """The user has paused: nothing is learned from this turn."""


async def open_cycle(
    memory: Memory, user: str, chat: str, said: CycleMessage, *, parent: str | None, channel: str
) -> Cycle:
    """Opens the message's cycle, or returns the chat's last one if it holds this message already.

    `parent`: the cycle before it; None: the chat's last. Raises NotAllowed('chat_of_another').
    """
    if parent is None and not memory.availability.unreadable:
        for last in await memory.conversation(user, chat, limit=1):
            if last.message.id == said.id:
                return last
    follow = parent is None
    return await memory.transcript.open_cycle(user, chat, said, parent=parent, follow=follow, channel=channel)


async def close_cycle(
    memory: Memory,
    user: str,
    cycle: str,
    replies: Sequence[CycleMessage],
    *,
    learned: bool = True,
    shown: tuple[str, ...] = (),
) -> None:
    """Closes the cycle with its replies: the same reply is added once, another one is a variant.

    What is worth remembering is taken from it by a worker, where it may be `learned`. `shown`: ids of the
    memories that were given unasked. Raises NotAllowed('cycle_unknown').
    """
    await memory.transcript.close_cycle(
        user,
        cycle,
        execution=replies[-1].id if replies else cycle,
        messages=replies,
        steps=(),
        formation="pending" if learned else "none",
        shown=shown,
    )


async def store_message(memory: Memory, turn: AgentTurn, parent: str | None) -> str | None:
    """Stores the user's message before it is answered; returns the id of its cycle.

    `parent`: the cycle before it on the agent's own branch; None: the last of the chat. Returns None in
    incognito, for an invalid message, and (logged) while the memory is unavailable.
    Raises NotAllowed('chat_of_another').
    """
    text = None
    try:
        if not turn.context.incognito:
            text = clean(turn.text, longest=turn.setup.limits.message_chars)
    except InputRefused as refusal:
        log.info("the turn is not kept: %s", refusal.code)
    try:
        if text is None:
            await memory.transcript.check_chat(turn.user, turn.chat)
            await _unlearn_unformed(memory, turn, asked=None)
            return None
        at = utc_now().astimezone(ZoneInfo((await _locale(memory, turn))[1]))
        said = CycleMessage(id=turn.message_id, role="user", text=text, at=at)
        channel = turn.context.channel
        id = (await open_cycle(memory, turn.user, turn.chat, said, parent=parent, channel=channel)).id
        await _unlearn_unformed(memory, turn, asked=id)
        return id
    except StorageFailed as failure:
        memory.availability.survives(failure)
        log.warning("the turn is not kept: %s", failure.code)
        return None


async def _unlearn_unformed(memory: Memory, turn: AgentTurn, *, asked: str | None) -> None:
    """Where the user asks to forget everything, unlearns what waits for formation."""
    language, _ = _choose_locale(turn, UserSettings(user=turn.user))
    if not memory.availability.unreadable and forgets_everything(turn.text, language, utc_now()):
        neutral = texts(language, "formation/judge")["unsaid"]
        await memory.unlearning.unlearn_unformed(turn.user, neutral, asked=asked)


async def brief_turn(memory: Memory, turn: AgentTurn, *, counted: bool) -> AgentBriefing:
    """Builds the briefing for the user's message, within its budget.

    `counted`: the memories shown count as accessed (LM-9). While the memory is unavailable (logged), the
    text says that nothing could be looked up.
    """
    try:
        if not memory.availability.unreadable:
            return await _build_briefing(memory, turn, counted=counted and not turn.context.incognito)
    except StorageFailed as failure:
        memory.availability.survives(failure)
        log.warning("no briefing: %s", failure.code)
    language, _ = _choose_locale(turn, UserSettings(user=turn.user))
    return AgentBriefing(texts(language, "cycle")["briefing_away"])


async def _build_briefing(memory: Memory, turn: AgentTurn, *, counted: bool) -> AgentBriefing:
    language, zone = await _locale(memory, turn)
    plan = plan_of(turn.setup.limits, smart=turn.context.smart_context)
    now = utc_now().astimezone(ZoneInfo(zone))
    found = await gather_material(memory, turn.user, turn.chat, turn.text, plan, now=now, language=language)
    visible: list[Cycle] = []  # the model sees their messages anyway
    if turn.seen and not turn.context.incognito:
        last = await memory.conversation(turn.user, turn.chat, limit=min(len(turn.seen), WINDOW))
        visible = [cycle for cycle in last if cycle.message.id in turn.seen]
    brief = build_brief(found.with_recent(visible), plan, language)
    if counted:
        memory.recall.accessed(
            turn.user, [hit.record.id for hit in found.found.hits if hit.record.id in brief.shown]
        )
    if not brief.text and not brief.session:
        return AgentBriefing("", paused=found.paused)
    frame = texts(language, "frame")
    text = f"{data_block(frame, [brief.text, brief.session])}\n{frame['use_memory']}"
    return AgentBriefing(text, brief.shown, found.paused)


async def _locale(memory: Memory, turn: AgentTurn) -> Locale:
    return _choose_locale(turn, await memory.conversations.preferences(turn.user))


def _choose_locale(turn: AgentTurn, settings: UserSettings) -> Locale:
    language = choose_language(turn.context.language, settings, turn.text, turn.setup.language)
    return language, choose_time_zone(turn.context.time_zone, settings, turn.setup.time_zone)
