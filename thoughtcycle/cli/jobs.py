"""`thoughtcycle worker` and `thoughtcycle jobs`: runs, lists and retries background work."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from thoughtcycle.cli.options import (
    TEXTS,
    Db,
    Flag,
    Json,
    User,
    check_user,
    print_json,
    reports_failures,
    ui_language,
)
from thoughtcycle.cli.resources import settings_for, with_memory
from thoughtcycle.errors import InputRefused, NotAllowed, reason
from thoughtcycle.memory.model import EVERYBODY, Job, JobState

if TYPE_CHECKING:
    from thoughtcycle.memory.memory import Memory

app = typer.Typer(help=TEXTS["help.jobs"], no_args_is_help=True)

T = TypeVar("T")
State = Annotated[
    Literal["waiting", "running", "dead"] | None, typer.Option("--state", help=TEXTS["option.state"])
]


@reports_failures
def worker(
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    once: Annotated[bool, Flag("--once", help=TEXTS["option.once"])] = False,
) -> None:
    """Works for all users of the database until Ctrl-C or SIGTERM."""

    def told(job: Job, outcome: str) -> None:
        if as_json:
            print_json({"id": job.id, "kind": job.kind, "outcome": outcome, "attempts": job.attempts})
        else:
            typer.echo(f"{_kind(job)} {job.id[:8]}: {_outcome(outcome)}")

    async def run() -> None:
        from thoughtcycle.mind.model_settings import ModelSettings
        from thoughtcycle.runtime.opening import open_services
        from thoughtcycle.runtime.upkeep import create_worker

        settings = settings_for(db)
        grace = timedelta(hours=settings.limits.grace_hours)
        async with open_services(settings, ModelSettings()) as (services, _):
            working = create_worker(services, grace, told=told)
            task = asyncio.create_task(working.drain() if once else working.run())
            for number in (signal.SIGTERM, signal.SIGINT):
                with suppress(NotImplementedError):  # Windows has neither
                    asyncio.get_running_loop().add_signal_handler(number, task.cancel)
            with suppress(asyncio.CancelledError):
                await task

    asyncio.run(run())


@app.command("list", help=TEXTS["help.jobs_list"])
@reports_failures
def list_(user: User = None, db: Db = None, as_json: Json = False, state: State = None) -> None:
    states: tuple[JobState, ...] = (state,) if state else ("waiting", "running", "dead")
    _print(_with_memory(db, lambda memory: memory.queue.listing(_owners(user), states)), as_json)


@app.command(help=TEXTS["help.jobs_retry"])
@reports_failures
def retry(
    ids: Annotated[list[str] | None, typer.Argument(help=TEXTS["argument.job"])] = None,
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    async def work(memory: "Memory") -> list[Job]:
        dead = await memory.queue.listing(_owners(user), ["dead"])
        chosen = [_find(dead, id) for id in ids] if ids else dead
        tried = [await memory.queue.retry(job) for job in chosen]
        return [job for job in tried if job is not None]

    _print(_with_memory(db, work), as_json)


def _kind(job: Job) -> str:
    return TEXTS.sections.get(f"job.kind.{job.kind}", job.kind)


def _outcome(outcome: str) -> str:
    """The text of a job's outcome, or of its failure code."""
    known = TEXTS.sections.get(f"outcome.{outcome}")
    return known or reason(outcome, ui_language())


def _find(jobs: list[Job], id: str) -> Job:
    found = [job for job in jobs if id.strip() and job.id.startswith(id.strip())]
    if not found:
        raise NotAllowed("job_unknown", id=repr(id))
    if len(found) > 1:
        raise InputRefused("job_ambiguous", id=repr(id), count=len(found))
    return found[0]


def _owners(user: str | None) -> tuple[str, str]:
    """The owners of the jobs shown: the user and the database as a whole."""
    from thoughtcycle.runtime.settings import load_settings

    return check_user(user, load_settings().user), EVERYBODY


def _with_memory(db: str | None, work: "Callable[[Memory], Awaitable[T]]") -> T:
    return with_memory(db, None, lambda memory, _: work(memory), embeddings=False)


def _print(jobs: list[Job], as_json: bool) -> None:
    if not as_json and not jobs:
        typer.echo(TEXTS["jobs.none"])
    for job in jobs:
        if as_json:
            print_json(job.model_dump(mode="json"))
            continue
        state = TEXTS[f"job.{job.state}"]
        error = f" · {reason(job.error, ui_language())}" if job.error else ""
        line = f"{job.id[:8]} {_kind(job)} · {state} · {job.due:%Y-%m-%d %H:%M:%S} · {job.attempts}{error}"
        typer.echo(line)
