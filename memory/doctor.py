"""Checks a user's stored memories against the invariants that every write keeps."""

from typing import get_args

from thoughtcycle.memory.records import Status
from thoughtcycle.memory.storage.base import Storage


async def problems(storage: Storage, space: str) -> list[str]:
    """What is wrong in this space, one line each; [] when everything fits together.

    Documents and vectors name each other (TC-15), journal numbers have no gap, every document carries the
    number of the last row about it, a key names one active memory, a former version names a current one.
    """
    records = await storage.listing(space, get_args(Status), limit=None, offset=0)
    vectors = await storage.vectors(space, [record.id for record in records])
    journal = await storage.journal(space)
    found = []
    listed = {(record.id, vector) for record in records for vector in record.vector_ids}
    present = {(vector.memory, vector.id) for vector in vectors}
    found += [f"memory {memory!r} lists the missing vector {id!r}" for memory, id in sorted(listed - present)]
    found += [f"memory {memory!r} does not list its vector {id!r}" for memory, id in sorted(present - listed)]
    numbers = [row.number for row in reversed(journal)]
    if numbers != list(range(1, len(numbers) + 1)):
        found.append(f"the journal has gaps: {numbers}")
    last = {row.memory: row.number for row in reversed(journal)}
    for record in records:
        if last.get(record.id) != record.revision:
            found.append(
                f"memory {record.id!r} is at {record.revision}, its journal at {last.get(record.id)}"
            )
        if record.current is not None and record.current not in last:
            found.append(f"version {record.id!r} is of an unknown memory")
    known = {record.id for record in records}
    found += [f"the journal tells of the missing memory {id!r}" for id in sorted(last.keys() - known)]
    keys = [record.key for record in records if record.status == "active" and record.key is not None]
    found += [
        f"the key {key!r} names several active memories" for key in sorted({*keys}) if keys.count(key) > 1
    ]
    return found
