"""Rolls the window of the chat: cycles that left it become summaries, critical data enter the ledger."""

from asyncio import gather
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thoughtcycle.memory.model import ConversationMemory, Cycle
from thoughtcycle.memory.rules import (
    WINDOW_CYCLES,
    branch_end,
    compression_due,
    follow_branch,
    missing_cycles,
    working_due,
)
from thoughtcycle.memory.storage import Conflict
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.formation.judge import judge_cycle
from thoughtcycle.nodes.formation.reconcile import reconcile_facts
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import Due, FormationUpdate

NEAR = 8
"""So many cycles back the last one that was taken in is looked for: as a rule it is the one before."""


@dataclass(frozen=True)
class LiveConversation:
    """The live branch of a chat and the conversation memory made from it."""

    memory: ConversationMemory
    """All of it where there are none `before`."""
    live: Sequence[str]
    """The cycles of the live branch, oldest first; where many come `before`, its end."""
    cycles: Sequence[Cycle]
    """The cycles in the window, and those that leave it now."""
    before: int = 0
    """Cycles before `live`, which the memory knows as they are."""

    @property
    def recent(self) -> list[Cycle]:
        """The window."""
        window = self.live[-WINDOW_CYCLES:]
        return sorted((one for one in self.cycles if one.id in window), key=lambda one: window.index(one.id))


async def roll_window(forming: FormationRun) -> FormationUpdate:
    """Ages the cycles that left the window (CM-2, CM-3, CM-7) and chooses the next step.

    Makes up for what a crash left out: where the memory knows less than all that lies behind it, the live
    branch is read from its beginning.

    Cycles whose judgement is still pending are judged again first (CM-8), unless the model has just failed
    for this one, too. Raises Conflict when another writer was faster; doing it again changes nothing twice.
    """
    talk, own = await read_live_conversation(forming), forming.state["cycle_id"]
    left = [one for one in talk.cycles if one.id != own and one.judgement and one.judgement.pending]
    if left and not forming.judgement.pending:
        for one in left:
            await reconcile_facts(forming, one, await judge_cycle(forming, one))
        talk = await read_live_conversation(forming)
    now = forming.services.clock()
    budget = forming.services.limits.word_budget
    after = follow_branch(talk.memory, talk.live, talk.cycles, now, before=talk.before, budget=budget)
    if after != talk.memory:
        after = await forming.memory.conversations.keep_conversation_memory(after)
    return {"due": due_step(after, forming.services.limits)}


def due_step(memory: ConversationMemory, limits: Limits) -> Due:
    """The step that the memory of the chat needs after it aged."""
    if working_due(memory, limits.working_every):
        return "summarise"
    return "compress" if compression_due(memory, limits.word_budget) else "embed"


async def read_live_conversation(forming: FormationRun) -> LiveConversation:
    """The memory of the cycle's chat, its live branch, and the cycles that it needs.

    Where the memory knows what lies behind it, no more than the end of the branch is read.
    """
    user, chat, own = forming.user, forming.state["chat"], forming.state["cycle_id"]
    memory, live = await gather(
        forming.memory.conversation_memory(user, chat, partial=True),
        forming.memory.transcript.is_live(user, chat, own),
    )
    path = await forming.memory.conversation(user, chat, limit=NEAR, tip=own) if live else []
    if (end := branch_end(memory, path[::-1])) is not None:
        ids, before = end
        return LiveConversation(
            memory, ids, await _given(forming, missing_cycles(memory, ids, before=before), path), before
        )
    if memory.partial:  # what belongs to a branch only the whole tells
        memory = await forming.memory.conversation_memory(user, chat)
    branch = live_until(memory, await forming.memory.transcript.branch(user, chat), own)
    return LiveConversation(memory, branch, await _given(forming, missing_cycles(memory, branch), path))


async def whole_memory(forming: FormationRun, known: ConversationMemory) -> ConversationMemory:
    """All of the memory of which `known` was read. Raises Conflict when it has been written since."""
    if not known.partial:
        return known
    found = await forming.memory.conversation_memory(forming.user, forming.state["chat"])
    if found.revision != known.revision:
        raise Conflict
    return found


async def _given(forming: FormationRun, wanted: Sequence[str], path: Iterable[Cycle]) -> list[Cycle]:
    """These cycles; those on the `path` are read already."""
    read = {cycle.id: cycle for cycle in path}
    rest = [id for id in wanted if id not in read]
    return [
        *(read[id] for id in wanted if id in read),
        *await forming.memory.transcript.cycles(forming.user, rest),
    ]


def live_until(memory: ConversationMemory, live: Sequence[str], cycle: str) -> Sequence[str]:
    """The live branch as far as formation has come: what waits behind this cycle has its own turn.

    Otherwise each cycle of a long backlog would take in all those behind it, in full. All of the branch
    where it is not the one that the memory was made from.
    """
    known = [cycle] if memory.head is None else [cycle, memory.head]
    if (memory.head is None and memory.revision) or not set(known) <= set(live):
        return live
    return live[: max(map(live.index, known)) + 1]
