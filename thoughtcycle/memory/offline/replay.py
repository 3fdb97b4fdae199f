"""Replays spooled writes, as of the time of their call; idempotent.

Changes in the database since then take precedence:

- a cycle whose chat went on meanwhile joins the tip of the chat; nothing is abandoned for it;
- writes for a user who was forgotten since are skipped;
- words that were erased since are redacted;
- a cycle whose user has paused is not learned from: during the outage the setting could not be read;
- writes that are no longer allowed (somebody else's chat, an unknown id) are skipped.

Skipped writes are logged by their kind, without their words.
"""

import logging
from datetime import datetime

from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.conversation import Conversations
from thoughtcycle.memory.core import Core
from thoughtcycle.memory.erasure import DocumentErasure, Erasure
from thoughtcycle.memory.index import Embedder
from thoughtcycle.memory.model import Conversation, Cycle, Variant
from thoughtcycle.memory.offline import intents
from thoughtcycle.memory.offline.intents import Intent
from thoughtcycle.memory.storage import Storage
from thoughtcycle.memory.transcript import Transcript

log = logging.getLogger(__name__)

_LOOK_BACK = 3
"""Last cycles of a chat that are searched for a message."""


class Replay:
    """Writes to a transcript whose clock shows the time of each write's call."""

    def __init__(self, storage: Storage, *, embeddings: Embedder | None) -> None:
        self._at = datetime.min
        core = Core(storage, embeddings=embeddings, clock=lambda: self._at)
        conversations = Conversations(core)
        self._storage = storage
        self._transcript = Transcript(core, conversations)
        self._erasure = Erasure(core, DocumentErasure(core, conversations))

    async def carry_out(self, intent: Intent) -> None:
        """Carries out a write, or logs why it is skipped. Raises StorageFailed if it has to be repeated."""
        self._at = intent.at
        forgotten = await self._storage.users.forgotten(intent.user)
        if forgotten is not None and intent.at <= forgotten:
            log.warning("a write that waited (%s) is left out: its user was forgotten", intent.call)
            return
        try:
            match intent:
                case intents.OpenCycle():
                    await self._open(intent)
                case intents.Append(user=user, cycle=id, execution=execution, step=step, text=text):
                    await self._transcript.append(user, id, execution, step, text)
                case intents.CloseCycle():
                    await self._close(intent)
            cycle = intent.cycle
            await self._redact_erased(intent, cycle if isinstance(cycle, str) else cycle.id)
        except (NotAllowed, InputRefused) as refusal:
            log.warning("a write that waited (%s) is left out: %s", intent.call, refusal.code)

    async def _redact_erased(self, intent: Intent, cycle: str) -> None:
        """Redacts the cycle after the write; a still later erasure finds it in the database."""
        erased = await self._erasure.erased_since(intent.user, intent.at)
        if erased is not None and (gone := erased.since(intent.at)):  # None: the user was forgotten with it
            await self._storage.transcript.amend_cycle(intent.user, cycle, gone.cycle)
            await self._erasure.scrub()

    async def _open(self, intent: intents.OpenCycle) -> None:
        if intent.once and await self._has_message(intent):
            return

        def cycle(conversation: Conversation) -> Cycle:
            moved_on = conversation.tip is not None and conversation.updated > intent.at
            parent = conversation.tip if intent.follow or moved_on else intent.cycle.parent
            return intent.cycle.model_copy(update={"parent": parent})

        opened = await self._transcript.begin(intent.user, intent.cycle.chat, cycle)
        if intent.once:
            await self._transcript.cut_off(opened)  # its turn never began

    async def _has_message(self, intent: intents.OpenCycle) -> bool:
        """Whether the transcript has the message; marks its cycle late, since its thread lost it."""
        user, chat = intent.user, intent.cycle.chat
        cycles = await self._storage.transcript.open_cycles(user=user, chat=chat)
        cycles += await self._transcript.conversation(user, chat, limit=_LOOK_BACK)
        same = [cycle for cycle in cycles if cycle.message.id == intent.cycle.message.id]
        for cycle in same:
            await self._transcript.amend(
                user, cycle.id, lambda cycle: cycle.model_copy(update={"late": True}), tip=False
            )
            if not cycle.closed:
                await self._transcript.cut_off(cycle)
        return bool(same)

    async def _close(self, intent: intents.CloseCycle) -> None:
        cycle = await self._storage.transcript.cycle(intent.user, intent.cycle)
        if cycle is None:
            raise NotAllowed("cycle_unknown", id=repr(intent.cycle))
        chat = await self._transcript.claim_chat(intent.user, cycle.chat)
        later = chat.tip not in (intent.cycle, cycle.parent) and chat.updated > intent.at
        names = ("execution", "messages", "steps", "at", "cut", "shown")
        variant = Variant(**{name: getattr(intent, name) for name in names})
        formation = intent.formation
        if formation == "pending":
            formation = await self._transcript.formation_state(intent.user)
        await self._transcript.close(intent.user, intent.cycle, variant, formation=formation, tip=not later)
