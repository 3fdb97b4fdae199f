"""Background jobs in MongoDB: each method is a single atomic write or read."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from pymongo.errors import DuplicateKeyError

from thoughtcycle.memory.model import Cycle, Job, JobState
from thoughtcycle.memory.storage.base.jobs import Jobs
from thoughtcycle.memory.storage.mongo.client import Database, Document
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing
from thoughtcycle.memory.storage.mongo.transcript_commit import TRANSCRIPTS


class MongoJobs(Jobs, Repository):
    @writing
    async def put(self, db: Database, job: Job) -> bool:
        await self._database.check_epoch(job.user)
        if await db.jobs.find_one({"_id": job.id}, {"_id": 1}) is not None:
            return False
        try:
            await db.jobs.insert_one(_document(job))
        except DuplicateKeyError:
            return False
        return True

    @reading
    async def get(self, db: Database, user: str, id: str) -> Job | None:
        found = await db.jobs.find_one({"_id": id, "user_id": user})
        return None if found is None else _job(found)

    @reading
    async def free(self, db: Database, now: datetime, kinds: Collection[str], *, limit: int) -> list[Job]:
        query = {"free": {"$lte": now.timestamp()}, "kind": {"$in": list(kinds)}}
        return [_job(found) async for found in db.jobs.find(query).sort("free", 1).limit(limit)]

    @writing
    async def change(self, db: Database, before: Job, after: Job | None) -> bool:
        mine = {"_id": before.id, "user_id": before.user, "revision": before.revision}
        if after is None:
            return bool((await db.jobs.delete_one(mine)).deleted_count)
        return bool((await db.jobs.replace_one(mine, _document(after))).matched_count)

    @reading
    async def listing(
        self, db: Database, users: Collection[str], states: Collection[JobState], *, limit: int | None = None
    ) -> list[Job]:
        query = {"user_id": {"$in": list(users)}, "state": {"$in": list(states)}}
        found = db.jobs.find(query).sort([("due", 1), ("_id", 1)])
        return [_job(one) async for one in (found if limit is None else found.limit(limit))]

    @reading
    async def pending_cycles(self, db: Database, user: str | None, *, limit: int) -> list[Cycle]:
        query: Document = {"formation": "pending"}
        if user is not None:
            await TRANSCRIPTS.recover(db, user)
            query["user_id"] = user
        found = db.cycles.find(query).sort([("opened", 1), ("number", 1)]).limit(limit)
        return [Cycle.model_validate_json(one["document"]) async for one in found]

    @reading
    async def pending_users(self, db: Database, *, limit: int) -> list[str]:
        steps: list[dict[str, Any]] = [
            {"$match": {"formation": "pending"}},
            {"$group": {"_id": "$user_id", "opened": {"$min": "$opened"}}},
            {"$sort": {"opened": 1, "_id": 1}},
            {"$limit": limit},
        ]
        return [str(one["_id"]) async for one in await db.cycles.aggregate(steps)]


def _document(job: Job) -> Document:
    names = {"_id": job.id, "user_id": job.user, "kind": job.kind, "state": job.state}
    times = {"due": job.due.timestamp(), "free": job.free.timestamp() if job.free is not None else None}
    return {**names, **times, "revision": job.revision, "document": job.model_dump_json()}


def _job(found: Document) -> Job:
    return Job.model_validate_json(found["document"])
