"""Ages the memory of the chat: what left the window becomes a summary, what is critical enters the ledger."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass

from thoughtcycle.memory.ageing import WINDOW, aged, missing, working_due
from thoughtcycle.memory.formed import ConversationMemory
from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.volume import compression_due
from thoughtcycle.nodes.formation.forming import Forming
from thoughtcycle.nodes.formation.judge import judge_cycle
from thoughtcycle.nodes.formation.reconcile import reconcile_facts
from thoughtcycle.nodes.formation.state import Due, FormationUpdate
from thoughtcycle.nodes.limits import Limits


@dataclass(frozen=True)
class Talk:
    """A chat as its memory is made from it."""

    memory: ConversationMemory
    live: Sequence[str]
    """The cycles of the live branch, oldest first."""
    cycles: Sequence[Cycle]
    """Those in the window, and those that are due to age."""

    @property
    def recent(self) -> list[Cycle]:
        """The window."""
        window = self.live[-WINDOW:]
        return sorted((one for one in self.cycles if one.id in window), key=lambda one: window.index(one.id))


async def age(forming: Forming) -> FormationUpdate:
    """CM-2, CM-3, CM-7. What a crash left out is made up for: the live branch is looked at from its begin.

    Cycles whose judgement is still pending are judged again first (CM-8), unless the model has just failed
    for this one, too. Raises Conflict when another writer was faster; doing it again changes nothing twice.
    """
    talk, own = await talk_of(forming), forming.state["cycle_id"]
    left = [one for one in talk.cycles if one.id != own and one.judgement and one.judgement.pending]
    if left and not forming.judgement.pending:
        for one in left:
            await reconcile_facts(forming, one, await judge_cycle(forming, one))
        talk = await talk_of(forming)
    now = forming.services.clock()
    after = aged(talk.memory, talk.live, talk.cycles, now, volume=forming.services.limits.volume)
    if after != talk.memory:
        after = await forming.memory.keep_conversation_memory(after)
    return {"due": due(after, forming.services.limits)}


def due(memory: ConversationMemory, limits: Limits) -> Due:
    """The step that the memory of the chat needs after it aged."""
    if working_due(memory, limits.working_every):
        return "summarise"
    return "compress" if compression_due(memory, limits.volume) else "embed"


async def talk_of(forming: Forming) -> Talk:
    """The memory of the cycle's chat, its live branch, and the cycles that it needs."""
    user, chat = forming.user, forming.state["chat"]
    memory, branch = await gather(
        forming.memory.conversation_memory(user, chat), forming.memory.branch(user, chat)
    )
    live = reached(memory, branch, forming.state["cycle_id"])
    return Talk(memory, live, await forming.memory.cycles(forming.user, missing(memory, live, WINDOW)))


def reached(memory: ConversationMemory, live: Sequence[str], cycle: str) -> Sequence[str]:
    """The live branch as far as formation has come: what waits behind this cycle has its own turn.

    Otherwise each cycle of a long backlog would take in all those behind it, in full. All of the branch
    where it is not the one that the memory was made from.
    """
    known = [cycle] if memory.head is None else [cycle, memory.head]
    if (memory.head is None and memory.revision) or not set(known) <= set(live):
        return live
    return live[: max(map(live.index, known)) + 1]
