"""Ages the memory of the chat: what left the window becomes a summary, what is critical enters the ledger."""

from asyncio import gather
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thoughtcycle.memory.ageing import WINDOW, aged, missing, since_head, working_due
from thoughtcycle.memory.formed import ConversationMemory, ConversationState
from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.storage.base import Conflict
from thoughtcycle.memory.volume import compression_due
from thoughtcycle.nodes.formation.forming import Forming
from thoughtcycle.nodes.formation.judge import judge_cycle
from thoughtcycle.nodes.formation.reconcile import reconcile_facts
from thoughtcycle.nodes.formation.state import Due, FormationUpdate
from thoughtcycle.nodes.limits import Limits

NEAR = 8
"""So many cycles back the last one that was taken in is looked for: as a rule it is the one before."""


@dataclass(frozen=True)
class Talk:
    """A chat as its memory is made from it."""

    memory: ConversationState
    """All of it where there are none `before`."""
    live: Sequence[str]
    """The cycles of the live branch, oldest first; where many come `before`, its end."""
    cycles: Sequence[Cycle]
    """Those in the window, and those that are due to age."""
    before: int = 0
    """Cycles before `live`, which the memory knows as they are."""

    @property
    def recent(self) -> list[Cycle]:
        """The window."""
        window = self.live[-WINDOW:]
        return sorted((one for one in self.cycles if one.id in window), key=lambda one: window.index(one.id))


async def age(forming: Forming) -> FormationUpdate:
    """CM-2, CM-3, CM-7. What a crash left out is made up for: where the memory knows less than all that lies
    behind it, the live branch is looked at from its begin.

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
    volume = forming.services.limits.volume
    after = aged(talk.memory, talk.live, talk.cycles, now, before=talk.before, volume=volume)
    if after != talk.memory:
        after = await forming.memory.keep_conversation_memory(after)
    return {"due": due(after, forming.services.limits)}


def due(memory: ConversationState, limits: Limits) -> Due:
    """The step that the memory of the chat needs after it aged."""
    if working_due(memory, limits.working_every):
        return "summarise"
    return "compress" if compression_due(memory, limits.volume) else "embed"


async def talk_of(forming: Forming) -> Talk:
    """The memory of the cycle's chat, its live branch, and the cycles that it needs.

    Where the memory knows what lies behind it, no more than the end of the branch is read.
    """
    user, chat, own = forming.user, forming.state["chat"], forming.state["cycle_id"]
    memory, live = await gather(
        forming.memory.conversation_digest(user, chat), forming.memory.is_live(user, chat, own)
    )
    path = await forming.memory.conversation(user, chat, limit=NEAR, tip=own) if live else []
    if (end := since_head(memory, path[::-1])) is not None:
        ids, before = end
        return Talk(memory, ids, await _given(forming, missing(memory, ids, before=before), path), before)
    if not isinstance(memory, ConversationMemory):  # what belongs to a branch only the whole tells
        memory = await forming.memory.conversation_memory(user, chat)
    branch = reached(memory, await forming.memory.branch(user, chat), own)
    return Talk(memory, branch, await _given(forming, missing(memory, branch), path))


async def whole(forming: Forming, known: ConversationState) -> ConversationMemory:
    """All of the memory of which `known` was read. Raises Conflict when it has been written since."""
    if isinstance(known, ConversationMemory):
        return known
    found = await forming.memory.conversation_memory(forming.user, forming.state["chat"])
    if found.revision != known.revision:
        raise Conflict
    return found


async def _given(forming: Forming, wanted: Sequence[str], path: Iterable[Cycle]) -> list[Cycle]:
    """These cycles; those on the `path` are read already."""
    read = {cycle.id: cycle for cycle in path}
    rest = [id for id in wanted if id not in read]
    return [*(read[id] for id in wanted if id in read), *await forming.memory.cycles(forming.user, rest)]


def reached(memory: ConversationState, live: Sequence[str], cycle: str) -> Sequence[str]:
    """The live branch as far as formation has come: what waits behind this cycle has its own turn.

    Otherwise each cycle of a long backlog would take in all those behind it, in full. All of the branch
    where it is not the one that the memory was made from.
    """
    known = [cycle] if memory.head is None else [cycle, memory.head]
    if (memory.head is None and memory.revision) or not set(known) <= set(live):
        return live
    return live[: max(map(live.index, known)) + 1]
