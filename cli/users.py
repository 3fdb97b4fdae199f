"""Commands that concern all that is kept of a user: export."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thoughtcycle.cli.files import new_file
from thoughtcycle.cli.opening import with_memory
from thoughtcycle.cli.options import TEXTS, Db, Flag, Json, User, put_json, reported

if TYPE_CHECKING:
    from thoughtcycle.memory.memory import Memory

app = typer.Typer()

Yes = Annotated[bool, Flag("--yes", help=TEXTS["option.yes"])]


@app.command(help=TEXTS["help.export"])
@reported
def export(
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help=TEXTS["argument.export"])] = "-",
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    yes: Yes = False,
) -> None:
    async def work(memory: "Memory", who: str) -> dict[str, int]:
        with nullcontext(sys.stdout.buffer) if file == "-" else new_file(Path(file), replace=yes) as out:
            async for line in memory.export(who):
                out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            out.flush()
        counted: dict[str, int] = line["lines"]
        return counted

    counted = with_memory(db, user, work, embeddings=False)
    if file != "-" and as_json:
        put_json(counted)
    elif file != "-":
        numbers = {name: counted.get(name, 0) for name in ("chat", "cycle", "memory")}
        typer.echo(TEXTS.fill("exported", file=file, **numbers))
