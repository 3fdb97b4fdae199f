"""Rolls the window of the chat: cycles that left it become summaries, critical data enter the ledger."""

from asyncio import gather
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thoughtcycle.memory.model import ConversationMemory, Cycle
from thoughtcycle.memory.rules.window import (
    WINDOW_CYCLES,
    branch_end,
    follow_branch,
    missing_cycles,
    working_due,
)
from thoughtcycle.memory.rules.word_budget import compression_due
from thoughtcycle.nodes.formation.judge import judge_cycle
from thoughtcycle.nodes.formation.reconcile import reconcile_facts
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate

NEAR = 8
"""How many cycles back the head of the memory is looked for; as a rule it is the one before."""


@dataclass(frozen=True)
class LiveConversation:
    """The live branch of a chat and the conversation memory made from it."""

    memory: ConversationMemory
    """All of it where there are none `before`."""
    live: Sequence[str]
    """Ids of the cycles of the live branch, oldest first, without those `before`."""
    cycles: Sequence[Cycle]
    """The cycles in the window, and those that leave it now."""
    before: int = 0
    """Number of earlier cycles, whose part of the memory is up to date."""

    @property
    def recent(self) -> list[Cycle]:
        """The window."""
        window = self.live[-WINDOW_CYCLES:]
        return sorted((one for one in self.cycles if one.id in window), key=lambda one: window.index(one.id))


async def roll_window(forming: FormationRun) -> FormationUpdate:
    """Moves the cycles that left the window into the memory (CM-2, CM-3, CM-7) and chooses the next step.

    Idempotent; it also adds cycles that a crash left out. Cycles with a pending judgement are judged again
    first (CM-8), unless the model has just failed for this one. Raises Conflict when another writer was
    faster.
    """
    talk, own = await read_live_conversation(forming), forming.state["cycle_id"]
    pending = [one for one in talk.cycles if one.id != own and one.judgement and one.judgement.pending]
    if pending and not forming.judgement.pending:
        for one in pending:
            await reconcile_facts(forming, one, await judge_cycle(forming, one))
        talk = await read_live_conversation(forming)
    now = forming.services.clock()
    budget = forming.services.limits.word_budget
    after = follow_branch(talk.memory, talk.live, talk.cycles, now, before=talk.before, budget=budget)
    if after != talk.memory:
        after = await forming.memory.conversations.keep_conversation_memory(after)
    if working_due(after, forming.services.limits.working_every):
        return {"due": "summarise"}
    return {"due": "compress" if compression_due(after, budget) else "embed"}


async def read_live_conversation(forming: FormationRun) -> LiveConversation:
    """The memory of the cycle's chat, its live branch, and the cycles that it needs.

    Where the memory is up to date, only the end of the branch is read.
    """
    user, chat, own = forming.user, forming.state["chat"], forming.state["cycle_id"]
    memory, live = await gather(
        forming.memory.conversation_memory(user, chat, partial=True),
        forming.memory.transcript.is_live(user, chat, own),
    )
    path = await forming.memory.conversation(user, chat, limit=NEAR, tip=own) if live else []
    if (end := branch_end(memory, path[::-1])) is not None:
        ids, before = end
        cycles = await _read_cycles(forming, missing_cycles(memory, ids, before=before), path)
        return LiveConversation(memory, ids, cycles, before)
    if memory.partial:  # only the whole memory tells its branch
        memory = await forming.memory.conversation_memory(user, chat)
    branch = live_until(memory, await forming.memory.transcript.branch(user, chat), own)
    return LiveConversation(memory, branch, await _read_cycles(forming, missing_cycles(memory, branch), path))


async def _read_cycles(forming: FormationRun, ids: Sequence[str], path: Iterable[Cycle]) -> list[Cycle]:
    """The cycles of these ids, taken from `path` where they are in it."""
    read = {cycle.id: cycle for cycle in path}
    rest = await forming.memory.transcript.cycles(forming.user, [id for id in ids if id not in read])
    return [*(read[id] for id in ids if id in read), *rest]


def live_until(memory: ConversationMemory, live: Sequence[str], cycle: str) -> Sequence[str]:
    """The live branch up to `cycle` or the memory's head: each later cycle of a backlog has its own run.

    All of it where the memory was made from another branch.
    """
    known = [cycle] if memory.head is None else [cycle, memory.head]
    if (memory.head is None and memory.revision) or not set(known) <= set(live):
        return live
    return live[: max(map(live.index, known)) + 1]
