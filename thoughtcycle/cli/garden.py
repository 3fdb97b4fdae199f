"""`thoughtcycle garden`: tends a user's memories now, or shows the plan with reasons."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from thoughtcycle.cli.call import Call
from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.options import TEXTS, Flag, one_line, print_json, ui_language

if TYPE_CHECKING:
    from thoughtcycle.nodes.garden.state import GardenOutput


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
        _print(done, dry_run)


def _print(done: "GardenOutput", dry_run: bool) -> None:
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
