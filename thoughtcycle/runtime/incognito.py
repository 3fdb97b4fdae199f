"""The states of incognito chats: held in this process's memory only, a limited number of them."""

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
"""Most incognito chats of one user; the least recently used is dropped."""
IN_ALL = 200
"""Most incognito chats of all users; one of the user who has most is dropped."""

ChatKey = tuple[str, str]
"""User and chat."""


class _Saver(BoundedInMemorySaver):
    """The checkpoints of one chat; words that its user has hidden or erased are redacted on read."""

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
    """A graph with a saver of its own for each incognito chat: chats never share state."""

    def __init__(self, graph: ThoughtCycle, memory: Memory, keep_turns: int = KEEP_TURNS) -> None:
        """`keep_turns`: how many of the last turns of a chat can be regenerated or edited."""
        self._graph = graph
        self._memory = memory
        self._keep_turns = keep_turns
        self._graphs: OrderedDict[ChatKey, ThoughtCycle] = OrderedDict()
        memory.erasure.erase_also(self._redact)

    def graph_of(self, user: str, chat: str) -> ThoughtCycle | None:
        """The graph that holds the chat's state; None where there is none or it was dropped."""
        return self._graphs.get((user, chat))

    def graph_for_turn(self, user: str, chat: str) -> ThoughtCycle:
        """The graph for the chat's next turn; a new one may push out another chat's."""
        graph = self._graphs.pop((user, chat), None)
        if graph is None:
            graph = self._graph.copy({"checkpointer": _Saver(self._memory, keep_turns=self._keep_turns)})
        self._graphs[user, chat] = graph
        if (dropped := surplus(self._graphs)) is not None:
            del self._graphs[dropped]
        return graph

    async def _redact(self, user: str, chats: Sequence[str], mask: Mask) -> int:
        """Adds `mask` to all states of the user."""
        for (owner, _), graph in self._graphs.items():
            if owner == user:
                saver = cast(_Saver, graph.checkpointer)
                saver.erased = Mask(tuple(dict.fromkeys((*saver.erased.traces, *mask.traces))))
        return 0

    def drop(self, user: str) -> None:
        """Drops all chats of the user."""
        for key in [key for key in self._graphs if key[0] == user]:
            del self._graphs[key]


def surplus(chats: Iterable[ChatKey], per_user: int = PER_USER, in_all: int = IN_ALL) -> ChatKey | None:
    """The chat to drop, of `chats` in the order of their last use; None where there is room for all.

    The last user's oldest where they have too many; else the oldest of a user who has most.
    """
    keys = list(chats)
    counts = Counter(user for user, _ in keys)
    last = keys[-1][0]
    if counts[last] > per_user:
        return next(key for key in keys if key[0] == last)
    if len(keys) <= in_all:
        return None
    return next(key for key in keys if counts[key[0]] == max(counts.values()))
