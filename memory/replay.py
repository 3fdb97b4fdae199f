"""Carries out writes that waited in the spool, as of the time they were asked for, each once.

What happened in the database since then goes before it:

- a cycle whose chat went on meanwhile joins the end of the chat's live branch; nothing is abandoned for it;
- a draft is left out where an active memory under its key says something newer;
- an update of a memory that was changed since is left out;
- hiding a memory that says something else by now hides the version of then;
- what a user said who was forgotten since is left out;
- what says words that were erased since loses them;
- of a cycle whose user has paused nothing is learned: during the outage nobody could ask;
- what is no longer allowed (somebody else's chat, an unknown id) is left out.

What is left out is logged by its kind; the words stay in the transcript.
"""

import logging
from datetime import datetime

import numpy as np

from thoughtcycle.memory import intents
from thoughtcycle.memory.changes import named
from thoughtcycle.memory.intents import Intent
from thoughtcycle.memory.masking import NOTHING, Mask
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import Conversation, Cycle, MemoryDraft, Op, Variant, as_text
from thoughtcycle.prompts.errors import InputRefused, ModelFailed, NotAllowed

log = logging.getLogger(__name__)

_CHANGES: frozenset[Op] = frozenset(
    {"save", "supersede", "update", "correct", "hide", "abandon", "restore", "undo"}
)
_LOOK_BACK = 3
"""Cycles at the end of a chat among which a message is looked for."""


class Replay(Memory):
    """A memory whose clock shows when the write that it carries out was asked for."""

    at: datetime

    async def carry_out(self, intent: Intent) -> None:
        """Does it, or logs why not. Raises StorageFailed: then it has to be done again."""
        self.at = intent.at
        forgotten = await self._storage.forgotten(intent.user)
        if forgotten is not None and intent.at <= forgotten:
            log.warning("a write that waited (%s) is left out: its user was forgotten", intent.call)
            return
        try:
            try:
                await self._do(intent)
            except ModelFailed as failure:
                log.warning("a write that waited is made without new vectors: %s", failure.code)
                await Replay(self._storage, embeddings=None, clock=lambda: intent.at)._do(intent)
        except (NotAllowed, InputRefused) as refusal:
            log.warning("a write that waited (%s) is left out: %s", intent.call, refusal.code)

    async def _do(self, intent: Intent) -> None:
        match intent:
            case intents.OpenCycle():
                await self._open(intent)
                await self._without_erased(intent, intent.cycle.id)
            case intents.Append():
                await self.append(intent.user, intent.cycle, intent.execution, intent.step, intent.text)
                await self._without_erased(intent, intent.cycle)
            case intents.CloseCycle():
                await self._close(intent)
                await self._without_erased(intent, intent.cycle)
            case intents.Save():
                await self._save(intent)
            case intents.Update():
                await self._update(intent)
            case intents.Hide():
                await self._hide(intent)

    async def _erased_since(self, intent: Intent) -> Mask:
        """The words of which nothing may be stored; of a user who was forgotten nothing is stored at all."""
        gone = await self.erased_since(intent.user, intent.at)
        return NOTHING if gone is None else gone.since(intent.at)

    async def _without_erased(self, intent: Intent, cycle: str) -> None:
        """Redacts what was stored. Behind it: an erasure that comes still later finds it there."""
        if gone := await self._erased_since(intent):
            await self._storage.amend_cycle(intent.user, cycle, gone.cycle)
            await self.scrub()

    async def _open(self, intent: intents.OpenCycle) -> None:
        if intent.once and await self._kept_already(intent):
            return

        def cycle(conversation: Conversation) -> Cycle:
            moved_on = conversation.tip is not None and conversation.updated > intent.at
            parent = conversation.tip if intent.follow or moved_on else intent.cycle.parent
            return intent.cycle.model_copy(update={"parent": parent})

        opened = await self._begun(intent.user, intent.cycle.chat, cycle)
        if intent.once:
            await self._cut(opened)  # its turn never began

    async def _kept_already(self, intent: intents.OpenCycle) -> bool:
        """Whether the transcript has the message. What its thread has of it is lost: its cycle is late."""
        user, chat = intent.user, intent.cycle.chat
        known = await self._storage.open_cycles(user=user, chat=chat)
        known += await self.conversation(user, chat, limit=_LOOK_BACK)
        same = [cycle for cycle in known if cycle.message.id == intent.cycle.message.id]
        for cycle in same:
            await self._amend(user, cycle.id, belated, tip=False)
            if not cycle.closed:
                await self._cut(cycle)
        return bool(same)

    async def _close(self, intent: intents.CloseCycle) -> None:
        cycle = await self._storage.cycle(intent.user, intent.cycle)
        if cycle is None:
            raise NotAllowed("cycle_unknown", id=repr(intent.cycle))
        chat = await self.claim_chat(intent.user, cycle.chat)
        later = chat.tip not in (intent.cycle, cycle.parent) and chat.updated > intent.at
        names = ("execution", "messages", "steps", "at", "cut", "shown")
        variant = Variant(**{name: getattr(intent, name) for name in names})
        formation = await self._learning(intent.user) if intent.formation == "pending" else "none"
        await self._closed(intent.user, intent.cycle, variant, formation=formation, tip=not later)

    async def _save(self, intent: intents.Save) -> None:
        gone = await self._erased_since(intent)
        told = [draft_without(draft, gone) for draft in intent.drafts]
        drafts = [draft for draft in told if draft is not None and await self._wanted(intent, draft)]
        vectors = {text: np.frombuffer(data, dtype="<f4") for text, data in intent.vectors.items()}
        if drafts:
            at_hand = vectors if intent.model == self._model else None
            await self.save(intent.user, drafts, vectors=at_hand)

    async def _wanted(self, intent: intents.Save, draft: MemoryDraft) -> bool:
        """Whether nothing newer stands in its place, and no earlier run of this very write."""
        keys = [draft.key] if draft.key is not None else []
        for known in await self._storage.same(intent.user, identities=[], keys=keys):
            if known.content != draft.content and known.valid_from > intent.at:
                log.warning("a memory that waited is left out: a newer one has its key")
                return False
        if draft.source.cycle is not None:
            return True
        known_ids = await self._storage.records(intent.user, [named(intent.user, draft).id])
        return not any(known.created >= intent.at for known in known_ids)

    async def _update(self, intent: intents.Update) -> None:
        if await self._changed_since(intent.user, intent.id, intent.at):
            log.warning("an update that waited is left out: the memory was changed since")
            return
        gone, bindings = await self._erased_since(intent), intent.bindings
        await self.update(
            intent.user,
            intent.id,
            content=intent.content,
            bindings=None if bindings is None else [text for text in bindings if not gone.finds(text)],
            key=intent.key,
            correction=intent.correction,
            cycle=intent.cycle,
            words=gone.text(intent.words),
            said=intent.said,
        )

    async def _hide(self, intent: intents.Hide) -> None:
        wanted: list[str] = []
        for id in intent.ids:
            if not await self._changed_since(intent.user, id, intent.at):
                wanted.append(id)
                continue
            former = await self._storage.versions(intent.user, [id])
            wanted += [version.id for version in former if version.valid_from <= intent.at]
        if wanted:
            await self.hide(intent.user, wanted, reason=intent.reason, cycle=intent.cycle)

    async def _changed_since(self, user: str, id: str, at: datetime) -> bool:
        entries = await self._storage.journal(user, memories=[id], limit=20)
        return any(entry.op in _CHANGES and entry.at > at for entry in entries)


def belated(cycle: Cycle) -> Cycle:
    """`cycle` as one of which its thread knows nothing."""
    return cycle.model_copy(update={"late": True})


def draft_without(draft: MemoryDraft, gone: Mask) -> MemoryDraft | None:
    """`draft` without erased words in what it came from; None where it says nothing else."""
    if not gone:
        return draft
    if gone.finds(as_text(draft.content)):
        log.warning("a memory that waited is left out: what it says was erased")
        return None
    source = draft.source.model_copy(update={"words": gone.text(draft.source.words)})
    bindings = tuple(text for text in draft.bindings if not gone.finds(text))
    return draft.model_copy(update={"source": source, "bindings": bindings})
