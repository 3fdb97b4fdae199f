"""Lets another process do something just before a chosen write of this one."""

from collections.abc import Awaitable, Callable
from typing import Any

from thoughtcycle.memory.memory import Memory

WRITES = ("save", "commit", "amend_cycle", "put_sheet")
"""Methods of the storage by which formation and garden write."""


class Beside:
    """Before write number `victim` of `memory`, `act` takes place elsewhere, once."""

    def __init__(self, memory: Memory, victim: int, act: Callable[[], Awaitable[object]]) -> None:
        self.writes, self.name = 0, ""
        for name in WRITES:
            setattr(memory._storage, name, self._watched(name, getattr(memory._storage, name), victim, act))

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
