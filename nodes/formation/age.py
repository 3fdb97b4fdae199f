"""Ages the memory of the chat: what left the window becomes a summary, what is critical enters the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass

from thoughtcycle.memory.ageing import WINDOW, aged, missing
from thoughtcycle.memory.formed import ConversationMemory
from thoughtcycle.memory.records import Cycle
from thoughtcycle.nodes.formation.forming import Forming
from thoughtcycle.nodes.formation.judge import judge_cycle
from thoughtcycle.nodes.formation.reconcile import reconcile_facts
from thoughtcycle.nodes.formation.state import FormationUpdate


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
    """CM-2, CM-3, CM-7. What a crash left out is made up for: the whole live branch is looked at.

    Cycles whose judgement is still pending are judged again first (CM-8), unless the model has just failed
    for this one, too. Raises Conflict when another writer was faster; doing it again changes nothing twice.
    """
    cycle = await forming.cycle()
    talk = await talk_of(forming, cycle.chat)
    waiting = () if forming.judgement.pending else talk.cycles
    for one in waiting:
        if one.id != cycle.id and one.judgement is not None and one.judgement.pending:
            await reconcile_facts(forming, one, await judge_cycle(forming, one))
    talk = await talk_of(forming, cycle.chat)
    now = forming.services.clock()
    after = aged(talk.memory, talk.live, talk.cycles, now, volume=forming.services.limits.volume)
    if after != talk.memory:
        await forming.memory.keep_conversation_memory(after)
    return {}


async def talk_of(forming: Forming, chat: str) -> Talk:
    """The memory of a chat, its live branch, and the cycles that it needs."""
    memory = await forming.memory.conversation_memory(forming.user, chat)
    live = await forming.memory.branch(forming.user, chat)
    return Talk(memory, live, await forming.memory.cycles(forming.user, missing(memory, live, WINDOW)))
