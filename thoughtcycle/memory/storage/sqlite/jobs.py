"""Background jobs in SQLite."""

from collections.abc import Collection
from datetime import datetime
from sqlite3 import Connection

from thoughtcycle.memory.model import Cycle, Job, JobState
from thoughtcycle.memory.storage.base.jobs import Jobs
from thoughtcycle.memory.storage.sqlite.database import Repository, marks, reading, writing


class SqliteJobs(Jobs, Repository):
    @writing
    def put(self, db: Connection, job: Job) -> bool:
        self._database.check_epoch(db, job.user)
        query = (
            "INSERT OR IGNORE INTO jobs (id, user, kind, state, due, free, revision, document) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        return bool(db.execute(query, (job.id, job.user, job.kind, *_fields(job))).rowcount)

    @reading
    def get(self, db: Connection, user: str, id: str) -> Job | None:
        row = db.execute("SELECT document FROM jobs WHERE id = ? AND user = ?", (id, user)).fetchone()
        return None if row is None else Job.model_validate_json(row[0])

    @reading
    def free(self, db: Connection, now: datetime, kinds: Collection[str], *, limit: int) -> list[Job]:
        rows = db.execute(
            f"SELECT document FROM jobs WHERE free <= ? AND kind IN ({marks(kinds)}) ORDER BY free LIMIT ?",
            (now.timestamp(), *kinds, limit),
        )
        return [Job.model_validate_json(text) for (text,) in rows]

    @writing
    def change(self, db: Connection, before: Job, after: Job | None) -> bool:
        mine = (before.id, before.user, before.revision)
        if after is None:
            done = db.execute("DELETE FROM jobs WHERE id = ? AND user = ? AND revision = ?", mine)
        else:
            done = db.execute(
                "UPDATE jobs SET state = ?, due = ?, free = ?, revision = ?, document = ? "
                "WHERE id = ? AND user = ? AND revision = ?",
                (*_fields(after), *mine),
            )
        return bool(done.rowcount)

    @reading
    def listing(
        self,
        db: Connection,
        users: Collection[str],
        states: Collection[JobState],
        *,
        limit: int | None = None,
    ) -> list[Job]:
        rows = db.execute(
            f"SELECT document FROM jobs WHERE user IN ({marks(users)}) AND state IN ({marks(states)}) "
            "ORDER BY due, id LIMIT ?",
            (*users, *states, -1 if limit is None else limit),
        )
        return [Job.model_validate_json(text) for (text,) in rows]

    @reading
    def pending_cycles(self, db: Connection, user: str | None, *, limit: int) -> list[Cycle]:
        own, values = ("", ()) if user is None else ("AND user = ?", (user,))
        query = f"SELECT document FROM cycles WHERE pending IS NOT NULL {own} ORDER BY pending, number"
        rows = db.execute(f"{query} LIMIT ?", (*values, limit))
        return [Cycle.model_validate_json(text) for (text,) in rows]

    @reading
    def pending_users(self, db: Connection, *, limit: int) -> list[str]:
        query = "SELECT user FROM cycles WHERE pending IS NOT NULL GROUP BY user"
        rows = db.execute(f"{query} ORDER BY min(pending), user LIMIT ?", (limit,))
        return [str(row[0]) for row in rows]


def _fields(job: Job) -> tuple[str, float, float | None, int, str]:
    free = job.free.timestamp() if job.free is not None else None
    return job.state, job.due.timestamp(), free, job.revision, job.model_dump_json()
