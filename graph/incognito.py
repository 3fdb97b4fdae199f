"""The states of incognito chats: in this process's memory alone, so many per user and in all."""

from collections import Counter, OrderedDict
from collections.abc import Iterable

from thoughtcycle.graph.checkpoints.in_memory import BriefSaver
from thoughtcycle.graph.checkpoints.retention import KEEP_TURNS
from thoughtcycle.graph.thought_cycle import ThoughtCycle

PER_USER = 20
"""Incognito chats of one user whose state is kept; the one not used for longest goes first."""
IN_ALL = 200
"""The same of all users together; it goes from whoever has most."""

Place = tuple[str, str]
"""User and chat."""


class IncognitoChats:
    """A saver for each chat, dropped with it: nobody's chat meets a state of somebody else's."""

    def __init__(self, graph: ThoughtCycle, keep_turns: int = KEEP_TURNS) -> None:
        """`keep_turns`: the last turns of each that can be answered anew or edited."""
        self._graph = graph
        self._keep_turns = keep_turns
        self._kept: OrderedDict[Place, ThoughtCycle] = OrderedDict()

    def known(self, user: str, chat: str) -> ThoughtCycle | None:
        """The graph that holds the chat's state; None where none is kept (any more)."""
        return self._kept.get((user, chat))

    def used(self, user: str, chat: str) -> ThoughtCycle:
        """The graph for the chat's next turn. Where it is one too many, another chat's state is dropped."""
        place = (user, chat)
        graph = self._kept.pop(place, None) or self._begun()
        self._kept[place] = graph
        if (gone := surplus(self._kept)) is not None:
            del self._kept[gone]
        return graph

    def _begun(self) -> ThoughtCycle:
        return self._graph.copy({"checkpointer": BriefSaver(keep_turns=self._keep_turns)})

    def drop(self, user: str) -> None:
        """Keeps none of the user's."""
        for place in [place for place in self._kept if place[0] == user]:
            del self._kept[place]


def surplus(kept: Iterable[Place], per_user: int = PER_USER, in_all: int = IN_ALL) -> Place | None:
    """What is to go of places in the order of their last use, where it is one too many.

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
