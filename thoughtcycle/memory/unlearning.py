"""Takes back what was learned from one exchange: "don't remember this", said after it (BY-10)."""

from collections.abc import Sequence

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import ConversationMemory, Cycle, Judgement, MemoryRecord
from thoughtcycle.memory.rules import EVERY, of_live
from thoughtcycle.memory.storage import Conflict

_TRIES = 8


async def unlearn(
    memory: Memory, user: str, cycle: Cycle, summary: str, *, asked: str | None = None
) -> list[MemoryRecord]:
    """Nothing is learned from `cycle`, and what was is gone: memories, critical data, habits, moods.

    Memories that it made are hidden, those that it changed say again what they said before; gives them.
    `summary` is what summaries tell of the exchange instead; `asked` is the cycle that asks for it. The
    transcript keeps the exchange. It may be repeated: a formation that was under way meanwhile is taken back
    in its turn. Raises Conflict when others write all the time.
    """
    neutral = Judgement(importance=0, summary=summary, unsaid=True)
    for _ in range(_TRIES):
        if await memory.conversations.form_cycle(
            user, cycle.id, judgement=neutral, marks=(), formation="none", expected=cycle
        ):
            break
        known = await memory.transcript.cycle(user, cycle.id)
        if known is None:
            return []
        cycle = known
    gone = await _hidden(memory, user, cycle.id, asked)
    await out_of_conversation(memory, user, cycle)
    await memory.conversations.drop_observed(user, [cycle.id])
    return gone


async def _hidden(memory: Memory, user: str, cycle: str, asked: str | None) -> list[MemoryRecord]:
    made: list[MemoryRecord] = []
    changed: list[MemoryRecord] = []
    for record in await memory.records.from_cycles(user, [cycle]):
        if record.status not in ("active", "archived"):
            continue
        older = [one for one in await memory.versions(user, record.id) if one.source.cycle != cycle]
        (changed if older else made).append(record)
    for record in changed:
        await memory.undo(user, record.id)
    if made:
        await memory.hide(user, [record.id for record in made], cycle=asked)
    return [*made, *changed]


async def out_of_conversation(memory: Memory, user: str, cycle: Cycle) -> None:
    """Takes what `cycle` said out of the memory of its chat. Raises Conflict as `unlearn` does."""
    for _ in range(_TRIES):
        known = await memory.conversation_memory(user, cycle.chat)
        after = unlearned(known, cycle.id, await memory.transcript.branch(user, cycle.chat))
        if after == known:
            return
        try:
            await memory.conversations.keep_conversation_memory(after)
        except Conflict:
            continue
        return
    raise Conflict


def unlearned(known: ConversationMemory, cycle: str, live: Sequence[str]) -> ConversationMemory:
    """The memory of a chat as if `cycle` had said nothing; a working summary that knew it is made anew.

    Its summary is made anew too, from its new judgement, when the chat goes on.
    """
    if known.head is None or cycle not in live:
        return known
    alive = [one for one in live if one != cycle]
    changes: dict[str, object] = {
        "critical_data": of_live(known.critical_data, alive),
        "ledger": tuple(entry for entry in known.ledger if entry.cycle_id != cycle),
        "old_memory": tuple(one for one in known.old_memory if one.cycle_id != cycle),
        "periods": tuple(one for one in known.periods if cycle not in one.cycle_ids),
    }
    taken = live[: live.index(known.head) + 1] if known.head in live else live
    if known.working and cycle in taken and cycle not in known.working_cycles:
        changes |= {"working": "", "working_cycles": tuple(taken[-EVERY:])}
    return known.model_copy(update=changes)
