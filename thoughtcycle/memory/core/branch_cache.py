"""Whether a cycle lies on the live branch of its chat; a long chat's links are read once per end of it."""

from collections import OrderedDict

from thoughtcycle.memory.storage import Transcript
from thoughtcycle.memory.versioning import live_path

MOST = 8
"""Branches kept: some 1.5 MB per 10,000 cycles."""


class LiveBranches:
    """Branches looked at lately. What lies behind the end of one never changes. For one event loop."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._known: OrderedDict[tuple[str, str, str], frozenset[str]] = OrderedDict()

    async def holds(self, user: str, chat: str, tip: str | None, cycle: str) -> bool:
        """Whether `cycle` is on the branch of the chat that ends with `tip`."""
        if tip is None or cycle == tip:
            return cycle == tip
        name = (user, chat, tip)
        if name not in self._known:
            self._known[name] = frozenset(live_path(await self._transcript.links(user, [chat]), tip))
        self._known.move_to_end(name)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return cycle in self._known[name]
