"""All that is kept of a user, so that two ways to the same end can be compared."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import Status

VOLATILE = {"created", "updated", "updated_at", "revision", "number", "at"}


async def state(memory: Memory, since: datetime) -> dict[str, Any]:
    """All that is kept of the user; what happened now happened now, whenever that was."""
    statuses: tuple[Status, ...] = ("active", "archived", "superseded", "hidden", "erased")
    journal = await memory.core.storage.memories.journal("ana", limit=None)
    records = await memory.list("ana", statuses=statuses)
    vectors = await memory.core.storage.memories.vectors("ana", [record.id for record in records])
    every = {
        "memories": sorted((one.model_dump() for one in records), key=lambda one: str(one["id"])),
        "journal": sorted((row.op, row.memory, row.cycle or "") for row in journal),
        "chats": [one.model_dump() for one in await memory.conversation_memories("ana", limit=9)],
        "profile": (await memory.profile("ana")).model_dump(),
        "cycles": [one.model_dump() for one in await memory.conversation("ana", "c", limit=99)],
        "vectors": Counter((vector.memory, vector.text) for vector in vectors),
    }
    return {name: _steady(value, since) for name, value in every.items()}


def _steady(value: Any, since: datetime) -> Any:
    if isinstance(value, Mapping):
        return {key: _steady(one, since) for key, one in value.items() if key not in VOLATILE}
    if isinstance(value, list | tuple):
        return [_steady(one, since) for one in value]
    return "now" if isinstance(value, datetime) and value >= since else value
