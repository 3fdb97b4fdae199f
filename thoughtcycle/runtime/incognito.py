"""The states of incognito chats: in this process's memory alone, so many per user and in all."""

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from thoughtcycle.checkpoints.erasure import hidden_words
from thoughtcycle.checkpoints.in_memory import BoundedInMemorySaver
from thoughtcycle.checkpoints.retention import KEEP_TURNS
from thoughtcycle.graph.thought_cycle import ThoughtCycle
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.redaction import NOTHING, Mask
from thoughtcycle.nodes.base.redaction import masked_tuple

PER_USER = 20
"""Incognito chats of one user whose state is kept; the one not used for longest goes first."""
IN_ALL = 200
"""The same of all users together; it goes from whoever has most."""

ChatKey = tuple[str, str]
"""User and chat."""


class _Saver(BoundedInMemorySaver):
    """The states of one chat, read without the words of what its user has hidden or erased."""

    def __init__(self, memory: Memory, *, keep_turns: int) -> None:
        super().__init__(keep_turns=keep_turns)
        self._memory = memory
        self.erased: Mask = NOTHING

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See InMemorySaver."""
        return await masked_tuple(await super().aget_tuple(config), self._masks)

    async def alist(self, config: RunnableConfig | None, **wanted: Any) -> AsyncIterator[CheckpointTuple]:
        """See InMemorySaver."""
        async for one in super().alist(config, **wanted):
            if (found := await masked_tuple(one, self._masks)) is not None:
                yield found

    async def _masks(self, user: str) -> Mask:
        return Mask((*self.erased.traces, *(await hidden_words(self._memory, user)).traces))


class IncognitoChats:
    """A saver for each chat, dropped with it: nobody's chat meets a state of somebody else's."""

    def __init__(self, graph: ThoughtCycle, memory: Memory, keep_turns: int = KEEP_TURNS) -> None:
        """`keep_turns`: the last turns of each that can be answered anew or edited."""
        self._graph = graph
        self._memory = memory
        self._keep_turns = keep_turns
        self._kept: OrderedDict[ChatKey, ThoughtCycle] = OrderedDict()
        memory.erasure.erase_also(self._erased)

    def graph_of(self, user: str, chat: str) -> ThoughtCycle | None:
        """The graph that holds the chat's state; None where none is kept (any more)."""
        return self._kept.get((user, chat))

    def graph_for_turn(self, user: str, chat: str) -> ThoughtCycle:
        """The graph for the chat's next turn. Where it is one too many, another chat's state is dropped."""
        place = (user, chat)
        graph = self._kept.pop(place, None) or self._begun()
        self._kept[place] = graph
        if (gone := surplus(self._kept)) is not None:
            del self._kept[gone]
        return graph

    def _begun(self) -> ThoughtCycle:
        return self._graph.copy({"checkpointer": _Saver(self._memory, keep_turns=self._keep_turns)})

    async def _erased(self, user: str, chats: Sequence[str], mask: Mask) -> int:
        """Has the user's states read without these words from now on; they go with their chat."""
        for place, graph in self._kept.items():
            if place[0] == user:
                saver = cast(_Saver, graph.checkpointer)
                saver.erased = Mask(tuple(dict.fromkeys((*saver.erased.traces, *mask.traces))))
        return 0

    def drop(self, user: str) -> None:
        """Keeps none of the user's."""
        for place in [place for place in self._kept if place[0] == user]:
            del self._kept[place]


def surplus(kept: Iterable[ChatKey], per_user: int = PER_USER, in_all: int = IN_ALL) -> ChatKey | None:
    """The chat to drop, of chats in the order of their last use, where there is one too many.

    The last user's oldest if they have more than theirs; else the oldest of those who have most.
    """
    places = list(kept)
    counts = Counter(user for user, _ in places)
    last = places[-1][0]
    if counts[last] > per_user:
        return next(place for place in places if place[0] == last)
    if len(places) <= in_all:
        return None
    most = max(counts.values())
    return next(place for place in places if counts[place[0]] == most)
