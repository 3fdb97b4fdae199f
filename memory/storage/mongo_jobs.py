"""Background jobs in MongoDB: plain functions of a database, each a single atomic write or read."""

from collections.abc import Collection
from datetime import datetime

from pymongo.errors import DuplicateKeyError

from thoughtcycle.memory.jobs import Job, JobState
from thoughtcycle.memory.storage.mongo_client import Database, Document
from thoughtcycle.memory.storage.mongo_documents import escaped


async def put(db: Database, job: Job) -> bool:
    """See JobStorage.put_job."""
    if await db.jobs.find_one({"_id": escaped(job.id)}, {"_id": 1}) is not None:
        return False
    try:
        await db.jobs.insert_one(_document(job))
    except DuplicateKeyError:
        return False
    return True


async def get(db: Database, user: str, id: str) -> Job | None:
    """See JobStorage.job."""
    found = await db.jobs.find_one({"_id": escaped(id), "user_id": escaped(user)})
    return None if found is None else _job(found)


async def free(db: Database, now: datetime, kinds: Collection[str], limit: int) -> list[Job]:
    """See JobStorage.free_jobs."""
    query = {"free": {"$lte": now.timestamp()}, "kind": {"$in": escaped(list(kinds))}}
    return [_job(found) async for found in db.jobs.find(query).sort("free", 1).limit(limit)]


async def change(db: Database, before: Job, after: Job | None) -> bool:
    """See JobStorage.change_job."""
    mine = {"_id": escaped(before.id), "user_id": escaped(before.user), "revision": before.revision}
    if after is None:
        return bool((await db.jobs.delete_one(mine)).deleted_count)
    return bool((await db.jobs.replace_one(mine, _document(after))).matched_count)


async def listing(
    db: Database, users: Collection[str], states: Collection[JobState], limit: int | None
) -> list[Job]:
    """See JobStorage.jobs."""
    query = {"user_id": {"$in": escaped(list(users))}, "state": {"$in": list(states)}}
    found = db.jobs.find(query).sort([("due", 1), ("_id", 1)])
    return [_job(one) async for one in (found if limit is None else found.limit(limit))]


def _document(job: Job) -> Document:
    names = escaped({"_id": job.id, "user_id": job.user, "kind": job.kind, "state": job.state})
    times = {"due": job.due.timestamp(), "free": job.free.timestamp() if job.free is not None else None}
    return {**names, **times, "revision": job.revision, "document": job.model_dump_json()}


def _job(found: Document) -> Job:
    return Job.model_validate_json(found["document"])
