"""`thoughtcycle reembed`: new vectors after a change of the embedding model; shows the cost first."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from thoughtcycle.cli.options import TEXTS, Db, Json, User, Yes, print_json, reports_failures
from thoughtcycle.cli.resources import confirm, with_memory

if TYPE_CHECKING:
    from thoughtcycle.memory.memory import Memory

app = typer.Typer()


@app.command(help=TEXTS["help.reembed"])
@reports_failures
def reembed(user: User = None, db: Db = None, as_json: Json = False, yes: Yes = False) -> None:
    from rich.console import Console
    from rich.progress import Progress

    async def work(memory: "Memory", who: str) -> None:
        found = await memory.outdated(who)
        if as_json:
            print_json(asdict(found))
        else:
            typer.echo(TEXTS.fill("reembed.cost", model=memory.model, **asdict(found)))
        if not found.texts:
            return
        confirm(TEXTS["reembed.ask"], yes)
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=as_json or not console.is_terminal) as bar:
            task = bar.add_task(TEXTS["reembed.running"], total=found.memories + found.messages)
            async for step in memory.reembed(who):
                bar.update(task, completed=step.done, total=step.total)
        if not as_json:
            typer.echo(TEXTS["reembed.done"])

    with_memory(db, user, work)
