"""The user's background work: what waits, runs or failed for good, and another try."""

from typing import Annotated

from fastapi import Query

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.model import Job, JobState
from thoughtcycle.web.api.routing import api
from thoughtcycle.web.server.dependencies import CurrentUser, MemoryDep

router = api("/api/jobs", "jobs")


@router.get("")
async def list_jobs(
    user: CurrentUser, memory: MemoryDep, state: Annotated[list[JobState] | None, Query()] = None
) -> list[Job]:
    """The user's jobs; those that look after the whole database are nobody's."""
    return await memory.queue.listing([user], state or ("waiting", "running", "dead"))


@router.post("/{id}/retry")
async def retry(id: str, user: CurrentUser, memory: MemoryDep) -> Job:
    """Tries again what failed for good."""
    dead = await memory.queue.listing([user], ["dead"])
    tried = [await memory.queue.retry(job) for job in dead if job.id == id]
    if not tried or tried[0] is None:
        raise NotAllowed("job_unknown", id=repr(id))
    return tried[0]
