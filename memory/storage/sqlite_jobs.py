"""Background jobs in SQLite: plain functions of a connection, each run as one transaction."""

import sqlite3
from collections.abc import Collection
from datetime import datetime

from thoughtcycle.memory.jobs import Job, JobState


def put(db: sqlite3.Connection, job: Job) -> bool:
    """See JobStorage.put_job."""
    return bool(
        db.execute(
            "INSERT OR IGNORE INTO jobs (id, user, kind, state, due, free, revision, document) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (job.id, job.user, job.kind, *_fields(job)),
        ).rowcount
    )


def get(db: sqlite3.Connection, user: str, id: str) -> Job | None:
    """See JobStorage.job."""
    row = db.execute("SELECT document FROM jobs WHERE id = ? AND user = ?", (id, user)).fetchone()
    return None if row is None else Job.model_validate_json(row[0])


def free(db: sqlite3.Connection, now: datetime, kinds: Collection[str], limit: int) -> list[Job]:
    """See JobStorage.free_jobs."""
    rows = db.execute(
        f"SELECT document FROM jobs WHERE free <= ? AND kind IN ({_marks(kinds)}) ORDER BY free LIMIT ?",
        (now.timestamp(), *kinds, limit),
    )
    return [Job.model_validate_json(text) for (text,) in rows]


def change(db: sqlite3.Connection, before: Job, after: Job | None) -> bool:
    """See JobStorage.change_job."""
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


def listing(
    db: sqlite3.Connection, users: Collection[str], states: Collection[JobState], limit: int | None
) -> list[Job]:
    """See JobStorage.jobs."""
    rows = db.execute(
        f"SELECT document FROM jobs WHERE user IN ({_marks(users)}) AND state IN ({_marks(states)}) "
        "ORDER BY due, id LIMIT ?",
        (*users, *states, -1 if limit is None else limit),
    )
    return [Job.model_validate_json(text) for (text,) in rows]


def _fields(job: Job) -> tuple[str, float, float | None, int, str]:
    free = job.free.timestamp() if job.free is not None else None
    return job.state, job.due.timestamp(), free, job.revision, job.model_dump_json()


def _marks(values: Collection[str]) -> str:
    return ", ".join("?" * len(values))
