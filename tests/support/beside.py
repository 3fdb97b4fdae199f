"""Lets another process do something just before a chosen write of this one."""

from collections.abc import Awaitable, Callable
from typing import Any

from thoughtcycle.memory.memory import Memory

WRITES = (
    ("memories", "save"),
    ("memories", "commit"),
    ("transcript", "amend_cycle"),
    ("documents", "put"),
)
"""Methods of the storage's repositories by which formation and garden write."""


class Beside:
    """Before write number `victim` of `memory`, `act` takes place elsewhere, once."""

    def __init__(self, memory: Memory, victim: int, act: Callable[[], Awaitable[object]]) -> None:
        self.writes, self.name = 0, ""
        for place, name in WRITES:
            repository = getattr(memory.core.storage, place)
            setattr(repository, name, self._watched(name, getattr(repository, name), victim, act))

    def _watched(
        self,
        name: str,
        write: Callable[..., Awaitable[Any]],
        victim: int,
        act: Callable[[], Awaitable[object]],
    ) -> Callable[..., Awaitable[Any]]:
        async def watched(*args: Any, **options: Any) -> Any:
            self.writes += 1
            if self.writes == victim:
                self.name = name
                await act()
            return await write(*args, **options)

        return watched
