"""Takes back what was learned from one exchange: "don't remember this", said after it (BY-10)."""

from collections.abc import Sequence

from thoughtcycle.memory.conversation import Conversations
from thoughtcycle.memory.model import ConversationMemory, Cycle, Judgement, MemoryRecord
from thoughtcycle.memory.records import Records
from thoughtcycle.memory.rules.preserved_data import live_critical_data
from thoughtcycle.memory.rules.window import WORKING_SUMMARY_EVERY
from thoughtcycle.memory.storage import Conflict
from thoughtcycle.memory.transcript import Transcript

_TRIES = 8


class Unlearning:
    """Takes an exchange out of memories, conversation memory and profile; the transcript keeps it."""

    def __init__(self, conversations: Conversations, records: Records, transcript: Transcript) -> None:
        self._conversations, self._records, self._transcript = conversations, records, transcript

    async def unlearn(
        self, user: str, cycle: Cycle, summary: str, *, asked: str | None = None
    ) -> list[MemoryRecord]:
        """Hides the memories that `cycle` made and undoes its changes of others; returns both.

        Critical data, habits and moods from it go too, and nothing more is learned from it. `summary` stands
        for the exchange in summaries; `asked` is the cycle that asks for it. Idempotent: call it again for a
        formation that ran meanwhile. Raises Conflict when others write all the time.
        """
        neutral = Judgement(importance=0, summary=summary, unsaid=True)
        for _ in range(_TRIES):
            if await self._conversations.form_cycle(
                user, cycle.id, judgement=neutral, marks=(), formation="none", expected=cycle
            ):
                break
            known = await self._transcript.cycle(user, cycle.id)
            if known is None:
                return []
            cycle = known
        gone = await self._take_back(user, cycle.id, asked)
        await self.drop_from_conversation(user, cycle)
        await self._conversations.drop_observed(user, [cycle.id])
        return gone

    async def _take_back(self, user: str, cycle: str, asked: str | None) -> list[MemoryRecord]:
        made: list[MemoryRecord] = []
        changed: list[MemoryRecord] = []
        for record in await self._records.from_cycles(user, [cycle]):
            if record.status in ("active", "archived"):
                versions = await self._records.versions(user, record.id)
                (changed if any(one.source.cycle != cycle for one in versions) else made).append(record)
        for record in changed:
            await self._records.undo(user, record.id)
        if made:
            await self._records.hide(user, [record.id for record in made], cycle=asked)
        return [*made, *changed]

    async def drop_from_conversation(self, user: str, cycle: Cycle) -> None:
        """Removes `cycle` from the memory of its chat. Raises Conflict as `unlearn` does."""
        for _ in range(_TRIES):
            known = await self._conversations.conversation_memory(user, cycle.chat)
            after = _without(known, cycle.id, await self._transcript.branch(user, cycle.chat))
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
