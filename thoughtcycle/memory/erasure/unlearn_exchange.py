"""Takes back what was learned from exchanges, and learns nothing more from them (BY-10)."""

from collections.abc import Sequence
from functools import partial

from thoughtcycle.memory.conversation import Conversations
from thoughtcycle.memory.core import Core, explicit, owned
from thoughtcycle.memory.model import ConversationMemory, Cycle, Judgement, MemoryRecord
from thoughtcycle.memory.records import Records
from thoughtcycle.memory.rules.preserved_data import live_critical_data
from thoughtcycle.memory.rules.window import WORKING_SUMMARY_EVERY
from thoughtcycle.memory.storage import Conflict
from thoughtcycle.memory.transcript import Transcript
from thoughtcycle.memory.versioning.cycle_transitions import is_unformed, unlearned_cycle

_TRIES = 8


class Unlearning:
    """Takes exchanges out of memories, conversation memory and profile; the transcript keeps them."""

    def __init__(
        self, core: Core, conversations: Conversations, records: Records, transcript: Transcript
    ) -> None:
        self._cycles, self.availability = core.storage.transcript, core.availability
        self._conversations, self._records, self._transcript = conversations, records, transcript

    async def unlearn(
        self, user: str, cycle: Cycle, summary: str, *, asked: str | None = None
    ) -> list[MemoryRecord]:
        """Hides the memories that `cycle` made and undoes its changes of others; returns both.

        Critical data, habits and moods from it go too, and nothing more is learned from it. `summary` stands
        for the exchange in summaries; `asked` is the cycle that asks for it. Idempotent: call it again for a
        formation that ran meanwhile. Raises Conflict when others write all the time.
        """
        return await self._unlearn(owned(user), [cycle], summary, asked)

    @explicit
    async def unlearn_unformed(self, user: str, summary: str, *, asked: str | None = None) -> int:
        """Unlearns all that was said until now and that formation has yet to judge; returns how many cycles.

        "Forget everything" means these, too: they wait for formation or failed in it, or are still open, but
        for `asked`, the cycle that asks for it. Idempotent; raises as `unlearn` does.
        """
        feed = await self._cycles.cycle_feed(owned(user), 0, model=None)
        every = [*feed.cycles, *await self._cycles.open_cycles(user=user)]
        cycles = [one for one in every if is_unformed(one) and one.id != asked]
        await self._unlearn(user, cycles, summary, asked)
        return len(cycles)

    async def _unlearn(
        self, user: str, cycles: Sequence[Cycle], summary: str, asked: str | None
    ) -> list[MemoryRecord]:
        neutral = Judgement(importance=0, summary=summary, unsaid=True)
        for one in cycles:
            await self._cycles.amend_cycle(user, one.id, partial(unlearned_cycle, judgement=neutral))
        ids = [one.id for one in cycles]
        gone = await self._take_back(user, ids, asked)
        for chat in {one.chat: None for one in cycles}:
            await self.drop_from_conversation(user, chat, [one.id for one in cycles if one.chat == chat])
        await self._conversations.drop_observed(user, ids)
        return gone

    async def _take_back(self, user: str, cycles: Sequence[str], asked: str | None) -> list[MemoryRecord]:
        made: list[MemoryRecord] = []
        changed: list[MemoryRecord] = []
        for record in await self._records.from_cycles(user, cycles):
            if record.status in ("active", "archived"):
                versions = await self._records.versions(user, record.id)
                (changed if any(one.source.cycle not in cycles for one in versions) else made).append(record)
        for record in changed:
            await self._records.undo(user, record.id)
        if made:
            await self._records.hide(user, [record.id for record in made], cycle=asked)
        return [*made, *changed]

    async def drop_from_conversation(self, user: str, chat: str, cycles: Sequence[str]) -> None:
        """Removes `cycles` from the memory of their chat. Raises Conflict as `unlearn` does."""
        for _ in range(_TRIES):
            after = known = await self._conversations.conversation_memory(user, chat)
            live = await self._transcript.branch(user, chat) if known.head is not None else []
            for cycle in cycles:
                after = _without(after, cycle, live)
            if after == known:
                return
            try:
                await self._conversations.keep_conversation_memory(after)
            except Conflict:
                continue
            return
        raise Conflict


def _without(known: ConversationMemory, cycle: str, live: Sequence[str]) -> ConversationMemory:
    """The memory of a chat without `cycle`; a working summary that included it is made anew.

    The summary of the cycle is made anew too, from its new judgement, when the chat goes on.
    """
    if known.head is None or cycle not in live:
        return known
    others = [one for one in live if one != cycle]
    changes: dict[str, object] = {
        "critical_data": live_critical_data(known.critical_data, others),
        "ledger": tuple(entry for entry in known.ledger if entry.cycle_id != cycle),
        "old_memory": tuple(one for one in known.old_memory if one.cycle_id != cycle),
        "periods": tuple(one for one in known.periods if cycle not in one.cycle_ids),
    }
    formed = live[: live.index(known.head) + 1] if known.head in live else live
    if known.working and cycle in formed and cycle not in known.working_cycles:
        changes |= {"working": "", "working_cycles": tuple(formed[-WORKING_SUMMARY_EVERY:])}
    return known.model_copy(update=changes)
