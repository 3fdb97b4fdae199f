"""Carries out writes that waited in the spool, as of the time they were asked for, each once.

What happened in the database since then goes before it:

- a cycle whose chat went on meanwhile joins the end of the chat's live branch; nothing is abandoned for it;
- what a user said who was forgotten since is left out;
- what says words that were erased since loses them;
- of a cycle whose user has paused nothing is learned: during the outage nobody could ask;
- what is no longer allowed (somebody else's chat, an unknown id) is left out.

What is left out is logged by its kind; the words stay in the transcript.
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
"""Cycles at the end of a chat among which a message is looked for."""


class Replay:
    """Writes into a transcript whose clock shows when each write was asked for."""

    def __init__(self, storage: Storage, *, embeddings: Embedder | None) -> None:
        self._at = datetime.min
        core = Core(storage, embeddings=embeddings, clock=lambda: self._at)
        conversations = Conversations(core)
        self._storage = storage
        self._transcript = Transcript(core, conversations)
        self._erasure = Erasure(core, DocumentErasure(core, conversations))

    async def carry_out(self, intent: Intent) -> None:
        """Does it, or logs why not. Raises StorageFailed: then it has to be done again."""
        self._at = intent.at
        forgotten = await self._storage.users.forgotten(intent.user)
        if forgotten is not None and intent.at <= forgotten:
            log.warning("a write that waited (%s) is left out: its user was forgotten", intent.call)
            return
        try:
            await self._do(intent)
        except (NotAllowed, InputRefused) as refusal:
            log.warning("a write that waited (%s) is left out: %s", intent.call, refusal.code)

    async def _do(self, intent: Intent) -> None:
        match intent:
            case intents.OpenCycle():
                await self._open(intent)
                await self._without_erased(intent, intent.cycle.id)
            case intents.Append():
                await self._transcript.append(
                    intent.user, intent.cycle, intent.execution, intent.step, intent.text
                )
                await self._without_erased(intent, intent.cycle)
            case intents.CloseCycle():
                await self._close(intent)
                await self._without_erased(intent, intent.cycle)

    async def _without_erased(self, intent: Intent, cycle: str) -> None:
        """Redacts what was stored. Behind it: an erasure that comes still later finds it there."""
        erased = await self._erasure.erased_since(intent.user, intent.at)
        if erased is not None and (gone := erased.since(intent.at)):  # None: the user was forgotten with it
            await self._storage.transcript.amend_cycle(intent.user, cycle, gone.cycle)
            await self._erasure.scrub()

    async def _open(self, intent: intents.OpenCycle) -> None:
        if intent.once and await self._kept_already(intent):
            return

        def cycle(conversation: Conversation) -> Cycle:
            moved_on = conversation.tip is not None and conversation.updated > intent.at
            parent = conversation.tip if intent.follow or moved_on else intent.cycle.parent
            return intent.cycle.model_copy(update={"parent": parent})

        opened = await self._transcript.begin(intent.user, intent.cycle.chat, cycle)
        if intent.once:
            await self._transcript.cut_off(opened)  # its turn never began

    async def _kept_already(self, intent: intents.OpenCycle) -> bool:
        """Whether the transcript has the message. What its thread has of it is lost: its cycle is late."""
        user, chat = intent.user, intent.cycle.chat
        known = await self._storage.transcript.open_cycles(user=user, chat=chat)
        known += await self._transcript.conversation(user, chat, limit=_LOOK_BACK)
        same = [cycle for cycle in known if cycle.message.id == intent.cycle.message.id]
        for cycle in same:
            await self._transcript.amend(user, cycle.id, belated, tip=False)
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
        formation = (
            await self._transcript.formation_state(intent.user) if intent.formation == "pending" else "none"
        )
        await self._transcript.close(intent.user, intent.cycle, variant, formation=formation, tip=not later)


def belated(cycle: Cycle) -> Cycle:
    """`cycle` as one of which its thread knows nothing."""
    return cycle.model_copy(update={"late": True})
