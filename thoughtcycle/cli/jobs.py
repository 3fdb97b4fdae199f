"""`thoughtcycle worker`, `jobs` and `garden`: runs, lists and retries background work."""

import asyncio
import signal
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thoughtcycle.cli.call import Call, CommandGroup
from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.options import TEXTS, Flag, one_line, print_json, ui_language
from thoughtcycle.errors import InputRefused, NotAllowed, reason
from thoughtcycle.memory.model import EVERYBODY, Job, JobState

if TYPE_CHECKING:
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.nodes.garden.state import GardenOutput

app = CommandGroup(help=TEXTS["help.jobs"], no_args_is_help=True)

State = Annotated[
    Literal["waiting", "running", "dead"] | None, typer.Option("--state", help=TEXTS["option.state"])
]


def worker(call: Call, once: Annotated[bool, Flag("--once", help=TEXTS["option.once"])] = False) -> None:
    """Works for all users of the database until Ctrl-C or SIGTERM."""

    def report(job: Job, outcome: str) -> None:
        values = {"id": job.id, "kind": job.kind, "outcome": outcome, "attempts": job.attempts}
        text = TEXTS.sections.get(f"outcome.{outcome}") or reason(outcome, ui_language())
        call.print(values, f"{_kind(job)} {job.id[:8]}: {text}")

    async def run() -> None:
        from thoughtcycle.mind.model_settings import ModelSettings
        from thoughtcycle.runtime.opening import open_services
        from thoughtcycle.runtime.upkeep import create_worker

        grace = timedelta(hours=call.settings.limits.grace_hours)
        async with open_services(call.settings, ModelSettings()) as (services, _):
            worker = create_worker(services, grace, told=report)
            task = asyncio.create_task(worker.drain() if once else worker.run())
            for number in (signal.SIGTERM, signal.SIGINT):
                with suppress(NotImplementedError):  # Windows has neither
                    asyncio.get_running_loop().add_signal_handler(number, task.cancel)
            with suppress(asyncio.CancelledError):
                await task

    asyncio.run(run())


@app.command("list", help=TEXTS["help.jobs_list"])
def list_(call: Call, state: State = None) -> None:
    states: tuple[JobState, ...] = (state,) if state else ("waiting", "running", "dead")
    _print(call.with_memory(lambda memory, user: memory.queue.listing((user, EVERYBODY), states)), call)


@app.command(help=TEXTS["help.jobs_retry"])
def retry(
    call: Call, ids: Annotated[list[str] | None, typer.Argument(help=TEXTS["argument.job"])] = None
) -> None:
    async def work(memory: "Memory", user: str) -> list[Job]:
        dead = await memory.queue.listing((user, EVERYBODY), ["dead"])
        chosen = [_find(dead, id) for id in ids] if ids else dead
        tried = [await memory.queue.retry(job) for job in chosen]
        return [job for job in tried if job is not None]

    _print(call.with_memory(work), call)


def _kind(job: Job) -> str:
    return TEXTS.sections.get(f"job.kind.{job.kind}", job.kind)


def _find(jobs: list[Job], id: str) -> Job:
    found = [job for job in jobs if id.strip() and job.id.startswith(id.strip())]
    if not found:
        raise NotAllowed("job_unknown", id=repr(id))
    if len(found) > 1:
        raise InputRefused("job_ambiguous", id=repr(id), count=len(found))
    return found[0]


def _print(jobs: list[Job], call: Call) -> None:
    if not call.as_json and not jobs:
        typer.echo(TEXTS["jobs.none"])
    for job in jobs:
        state = TEXTS[f"job.{job.state}"]
        error = f" · {reason(job.error, ui_language())}" if job.error else ""
        line = f"{job.id[:8]} {_kind(job)} · {state} · {job.due:%Y-%m-%d %H:%M:%S} · {job.attempts}{error}"
        call.print(job.model_dump(mode="json"), line)


def garden(
    call: Call, dry_run: Annotated[bool, Flag("--dry-run", help=TEXTS["option.dry_run"])] = False
) -> None:
    from thoughtcycle.nodes.base.context import Context

    context = Context(user_id=call.owner)

    async def run() -> "GardenOutput":
        from thoughtcycle.graph.garden import compile_garden
        from thoughtcycle.mind.model_settings import ModelSettings
        from thoughtcycle.runtime.opening import open_services

        async with open_services(call.settings, ModelSettings()) as (services, _):
            done = await compile_garden(services).ainvoke({"dry_run": dry_run}, context=context)
            return {"chores": done["chores"], "counts": done["counts"]}

    done = asyncio.run(run())
    if call.as_json:
        print_json({"user": call.owner, "dry_run": dry_run, **done})
    else:
        _print_chores(done, dry_run)


def _print_chores(done: "GardenOutput", dry_run: bool) -> None:
    from thoughtcycle.prompts.loader import texts

    words = texts(ui_language(), "garden")
    counts = {task: count for task, count in done["counts"].items() if count}
    if not counts:
        typer.echo(words["nothing"])
        return
    rows = [
        (
            words[f"task.{one['task']}"],
            one["id"][:8],
            one_line(one["content"]),
            words[f"why.{one['why']}"],
            one_line(one["into"]) or "–",
        )
        for one in done["chores"]
    ]
    print_table(words["columns"], rows)
    told = ", ".join(f"{words[f'task.{task}']} {count}" for task, count in counts.items())
    typer.echo(words.fill("planned" if dry_run else "done", counts=told))
