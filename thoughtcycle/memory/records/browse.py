"""Pages of a user's memories that meet conditions, for a list that a person looks through."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from thoughtcycle.memory.index import ALL, Filters
from thoughtcycle.memory.model import MemoryRecord, Status
from thoughtcycle.memory.records.service import Records

_BATCH = 500
"""Memories read at once where not all of them meet the conditions."""


@dataclass(frozen=True)
class RecordPage:
    """A page of memories."""

    records: tuple[MemoryRecord, ...]
    after: int | None
    """Where the next page begins; None: there is no more."""


async def browse(
    memories: Records,
    user: str,
    *,
    filters: Filters,
    statuses: Collection[Status],
    at: datetime | None,
    after: int,
    limit: int,
) -> RecordPage:
    """The next `limit` memories that meet the conditions, the last changed first.

    `after` is that of the page before; `at` as in `Records.list`. A memory that changes meanwhile moves to
    the front, so that a page may repeat or miss one.
    """
    found: list[MemoryRecord] = []
    batch = limit + 1 if filters == ALL else _BATCH
    while page := await memories.list(user, statuses=statuses, at=at, limit=batch, offset=after):
        for place, record in enumerate(page):
            if filters.match(record):
                if len(found) == limit:
                    return RecordPage(tuple(found), after + place)
                found.append(record)
        after += len(page)
        if len(page) < batch:
            break
    return RecordPage(tuple(found), None)
