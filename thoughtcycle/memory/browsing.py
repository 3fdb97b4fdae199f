"""Looks through memories page by page, narrowed by kind, layer, tag and time."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from thoughtcycle.memory.index import ALL, Filters
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryRecord, Status

ACTIVE: tuple[Status, ...] = ("active",)
_STRIDE = 500
"""Memories read at once while looking for such as fit."""


@dataclass(frozen=True)
class Shelf:
    """A page of memories."""

    records: tuple[MemoryRecord, ...]
    after: int | None
    """Where the next page begins; None: there is no more."""


async def browse(
    memory: Memory,
    user: str,
    *,
    filters: Filters = ALL,
    statuses: Collection[Status] = ACTIVE,
    at: datetime | None = None,
    after: int = 0,
    limit: int = 50,
) -> Shelf:
    """The next `limit` memories that fit, the last changed first; `after` is what the page before told.

    `at`: what was believed then instead (see Memory.list). What changes meanwhile moves to the front, so that
    one memory more or less may be seen.
    """
    found: list[MemoryRecord] = []
    stride = limit + 1 if filters == ALL else _STRIDE
    while page := await memory.list(user, statuses=statuses, at=at, limit=stride, offset=after):
        for place, record in enumerate(page):
            if filters.match(record):
                if len(found) == limit:
                    return Shelf(tuple(found), after + place)
                found.append(record)
        after += len(page)
        if len(page) < stride:
            break
    return Shelf(tuple(found), None)
