"""The doctor's findings as lines."""

from thoughtcycle.memory.maintenance.doctor import issues
from thoughtcycle.memory.storage import Storage


async def problems(storage: Storage, user: str) -> list[str]:
    """`issues` of a user as lines; [] when everything fits together."""
    return [issue.text() for issue in await issues(storage, user)]
