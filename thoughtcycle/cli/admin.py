"""Administration: export, import, forget-user, doctor, backup, restore, stats, reembed."""

import asyncio
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thoughtcycle.cli.call import Call, CommandGroup, confirm
from thoughtcycle.cli.files import new_file
from thoughtcycle.cli.options import TEXTS, Db, Flag, Json, Yes, one_line, print_json, ui_language
from thoughtcycle.cli.proof import Also, Prove, new_receipt, print_erased, prover
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import out_of_reach

if TYPE_CHECKING:
    from rich.progress import Progress

    from thoughtcycle.checkpoints.factory import Saver
    from thoughtcycle.memory.erasure import Farewell
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.proof.receipt import ProofReceipt

app = CommandGroup()


@app.command(help=TEXTS["help.export"])
def export(
    call: Call,
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help=TEXTS["argument.export"])] = "-",
    yes: Yes = False,
) -> None:
    from thoughtcycle.memory.transfer import encoded

    async def work(memory: "Memory", user: str) -> dict[str, int]:
        counted: dict[str, int] = {}
        with nullcontext(sys.stdout.buffer) if file == "-" else new_file(Path(file), replace=yes) as out:
            async for line in memory.export(user):
                out.write(encoded(line))
                counted = line.get("lines", counted)  # the last line has it
            out.flush()
        return counted

    counted = call.with_memory(work)
    if file != "-":
        numbers = {name: counted.get(name, 0) for name in ("chat", "cycle", "memory")}
        call.print(counted, TEXTS.fill("exported", file=file, **numbers))


@app.command("import", help=TEXTS["help.import"])
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=TEXTS["argument.import"])], call: Call
) -> None:
    with _progress_bar(call) as bar:
        task = bar.add_task(TEXTS["importing"], total=None)
        done = call.with_memory(
            lambda memory, user: memory.import_file(
                user, file, progress=lambda part, whole: bar.update(task, completed=part, total=whole)
            ),
            embeddings=True,
        )
    call.print(asdict(done), TEXTS.fill("imported", file=file, **asdict(done)))


def _progress_bar(call: Call) -> "Progress":
    """A progress bar on stderr; none with --json or without a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=call.as_json or not console.is_terminal)


@app.command("forget-user", help=TEXTS["help.forget_user"])
def forget_user(call: Call, prove: Prove = False, also: Also = None, yes: Yes = False) -> None:
    async def work(memory: "Memory", saver: "Saver", user: str) -> "tuple[Farewell, ProofReceipt | None]":
        from thoughtcycle.runtime.forgetting import forget_user as forget

        confirm(TEXTS.fill("forget.ask", user=one_line(user)), yes)
        if prove:
            return await prover(call, memory, saver, user, also).forget_user()
        return await forget(memory, saver, user), None

    path = new_receipt() if prove else None
    farewell, proof = call.with_threads(work)
    lines = []
    for part in ("erased", "left"):
        counts = ", ".join(f"{name} {count}" for name, count in getattr(farewell, part).items() if count)
        lines.append(TEXTS.fill(f"forget.{part}", found=counts or TEXTS["forget.nothing"]))
    lines.append(out_of_reach(ui_language()))
    print_erased(call, asdict(farewell), "\n".join(lines), proof, path)
    if farewell.left:
        raise typer.Exit(1)


@app.command(help=TEXTS["help.doctor"])
def doctor(
    user: Annotated[str | None, typer.Option("--user", help=TEXTS["option.doctor_user"])] = None,
    db: Db = None,
    as_json: Json = False,
    mend: Annotated[bool, Flag("--repair", help=TEXTS["option.repair"])] = False,
) -> None:
    from thoughtcycle.memory.storage import parse_url

    call = Call(user, db, as_json)
    path = parse_url(call.settings.url()).path
    if path is not None and not path.exists():  # opening it would make one, in which all is well
        raise InputRefused("backup_missing", path=repr(str(path)))
    found = call.with_memory(lambda memory, _: memory.doctor(user, mend=mend))
    for flaw in found:
        values = {"code": flaw.code, "repairable": flaw.repairable, **flaw.values}
        call.print(values, one_line(flaw.text(ui_language())))
    repairable = sum(flaw.repairable for flaw in found)
    if not as_json:
        left = TEXTS.fill("doctor.left", count=len(found), repairable=repairable)
        typer.echo(left if found else TEXTS["doctor.healthy"])
    if found:
        raise typer.Exit(1)


@app.command(help=TEXTS["help.backup"])
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=TEXTS["argument.backup"])],
    call: Call,
    yes: Yes = False,
) -> None:
    from thoughtcycle.memory.transfer import backup as write_backup
    from thoughtcycle.prompts.forms import size

    count = asyncio.run(write_backup(call.settings.url(), file, replace=yes))
    text = TEXTS.fill("backed_up", file=file, size=size(count, ui_language()))
    call.print({"file": str(file), "bytes": count}, text)


@app.command(help=TEXTS["help.restore_backup"])
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=TEXTS["argument.restore"])],
    call: Call,
    yes: Yes = False,
) -> None:
    from thoughtcycle.memory.transfer import restore as restore_backup

    asyncio.run(restore_backup(call.settings.url(), file, replace=yes))
    call.print({"file": str(file)}, TEXTS.fill("restored_backup", file=file))


@app.command(help=TEXTS["help.stats"])
def stats(call: Call) -> None:
    from thoughtcycle.prompts.forms import number, size

    census = call.with_memory(lambda memory, user: memory.stats(user))
    names = ("chats", "cycles", "changes", "pending", "bytes", "database_bytes")
    totals = {name: getattr(census, name) for name in names}
    if call.as_json:
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


@app.command(help=TEXTS["help.reembed"])
def reembed(call: Call, yes: Yes = False) -> None:
    async def work(memory: "Memory", user: str) -> None:
        found = await memory.outdated(user)
        call.print(asdict(found), TEXTS.fill("reembed.cost", model=memory.core.model, **asdict(found)))
        if not found.texts:
            return
        confirm(TEXTS["reembed.ask"], yes)
        with _progress_bar(call) as bar:
            task = bar.add_task(TEXTS["reembed.running"], total=found.memories + found.messages)
            async for step in memory.reembed(user):
                bar.update(task, completed=step.done, total=step.total)
        if not call.as_json:
            typer.echo(TEXTS["reembed.done"])

    call.with_memory(work, embeddings=True)
