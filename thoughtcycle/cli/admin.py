"""Administration: export, import, forget-user, doctor, backup, restore, stats."""

import asyncio
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thoughtcycle.cli.files import new_file
from thoughtcycle.cli.options import (
    TEXTS,
    Db,
    Flag,
    Json,
    User,
    Yes,
    one_line,
    print_json,
    reports_failures,
    ui_language,
)
from thoughtcycle.cli.resources import confirm, with_memory, with_threads
from thoughtcycle.errors import InputRefused

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.factory import Saver
    from thoughtcycle.memory.erasure import Farewell
    from thoughtcycle.memory.memory import Memory

app = typer.Typer()


@app.command(help=TEXTS["help.export"])
@reports_failures
def export(
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help=TEXTS["argument.export"])] = "-",
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    yes: Yes = False,
) -> None:
    from thoughtcycle.memory.transfer import encoded

    async def work(memory: "Memory", who: str) -> dict[str, int]:
        counted: dict[str, int] = {}
        with nullcontext(sys.stdout.buffer) if file == "-" else new_file(Path(file), replace=yes) as out:
            async for line in memory.export(who):
                out.write(encoded(line))
                counted = line.get("lines", counted)  # the last line has it
            out.flush()
        return counted

    counted = with_memory(db, user, work, embeddings=False)
    if file != "-" and as_json:
        print_json(counted)
    elif file != "-":
        numbers = {name: counted.get(name, 0) for name in ("chat", "cycle", "memory")}
        typer.echo(TEXTS.fill("exported", file=file, **numbers))


@app.command("import", help=TEXTS["help.import"])
@reports_failures
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=TEXTS["argument.import"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=as_json or not console.is_terminal) as bar:
        task = bar.add_task(TEXTS["importing"], total=None)
        done = with_memory(
            db,
            user,
            lambda memory, who: memory.import_file(
                who, file, progress=lambda part, whole: bar.update(task, completed=part, total=whole)
            ),
        )
    if as_json:
        print_json(asdict(done))
    else:
        typer.echo(TEXTS.fill("imported", file=file, **asdict(done)))


@app.command("forget-user", help=TEXTS["help.forget_user"])
@reports_failures
def forget_user(user: User = None, db: Db = None, as_json: Json = False, yes: Yes = False) -> None:
    async def work(memory: "Memory", saver: "Saver", who: str) -> "Farewell":
        from thoughtcycle.runtime.forgetting import forget_user as forget

        confirm(TEXTS.fill("forget.ask", user=one_line(who)), yes)
        return await forget(memory, saver, who)

    farewell = with_threads(db, user, work)
    if as_json:
        print_json(asdict(farewell))
    else:
        for part in ("erased", "left"):
            found = ", ".join(f"{name} {count}" for name, count in getattr(farewell, part).items() if count)
            typer.echo(TEXTS.fill(f"forget.{part}", found=found or TEXTS["forget.nothing"]))
    if farewell.left:
        raise typer.Exit(1)


@app.command(help=TEXTS["help.doctor"])
@reports_failures
def doctor(
    user: Annotated[str | None, typer.Option("--user", help=TEXTS["option.doctor_user"])] = None,
    db: Db = None,
    as_json: Json = False,
    mend: Annotated[bool, Flag("--repair", help=TEXTS["option.repair"])] = False,
) -> None:
    from thoughtcycle.memory.storage import parse_url
    from thoughtcycle.runtime.settings import load_settings

    path = parse_url(load_settings().url(db)).path
    if path is not None and not path.exists():  # opening it would make one, in which all is well
        raise InputRefused("backup_missing", path=repr(str(path)))
    found = with_memory(db, user, lambda memory, _: memory.doctor(user, mend=mend), embeddings=False)
    for flaw in found:
        if as_json:
            print_json({"code": flaw.code, "repairable": flaw.repairable, **flaw.values})
        else:
            typer.echo(one_line(flaw.text(ui_language())))
    repairable = sum(flaw.repairable for flaw in found)
    if not as_json and found:
        typer.echo(TEXTS.fill("doctor.left", count=len(found), repairable=repairable))
    elif not as_json:
        typer.echo(TEXTS["doctor.healthy"])
    if found:
        raise typer.Exit(1)


@app.command(help=TEXTS["help.backup"])
@reports_failures
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=TEXTS["argument.backup"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    yes: Yes = False,
) -> None:
    from thoughtcycle.memory.transfer import backup as write_backup
    from thoughtcycle.prompts.forms import size
    from thoughtcycle.runtime.settings import load_settings

    count = asyncio.run(write_backup(load_settings().url(db), file, replace=yes))
    if as_json:
        print_json({"file": str(file), "bytes": count})
    else:
        typer.echo(TEXTS.fill("backed_up", file=file, size=size(count, ui_language())))


@app.command(help=TEXTS["help.restore_backup"])
@reports_failures
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=TEXTS["argument.restore"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    yes: Yes = False,
) -> None:
    from thoughtcycle.memory.transfer import restore as restore_backup
    from thoughtcycle.runtime.settings import load_settings

    asyncio.run(restore_backup(load_settings().url(db), file, replace=yes))
    if as_json:
        print_json({"file": str(file)})
    else:
        typer.echo(TEXTS.fill("restored_backup", file=file))


@app.command(help=TEXTS["help.stats"])
@reports_failures
def stats(user: User = None, db: Db = None, as_json: Json = False) -> None:
    from thoughtcycle.prompts.forms import number, size

    census = with_memory(db, user, lambda memory, who: memory.stats(who), embeddings=False)
    names = ("chats", "cycles", "changes", "pending", "bytes", "database_bytes")
    totals = {name: getattr(census, name) for name in names}
    if as_json:
        print_json({"memories": census.by_status, "sheets": dict(census.sheets), **totals})
        return
    language = ui_language()
    typer.echo(f"{TEXTS['stats.memories']}: {number(sum(census.memories.values()), language)}")
    for one in census.by_status:
        status = TEXTS[f"status.{one['status']}"]
        typer.echo(f"  {status}, {one['kind'] or '–'}: {number(one['count'], language)}")
    for name, value in {"sheets": sum(census.sheets.values()), **totals}.items():
        if value is not None:
            written = size if "bytes" in name else number
            typer.echo(f"{TEXTS[f'stats.{name}']}: {written(value, language)}")
