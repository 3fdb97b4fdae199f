"""`thoughtcycle memories attach` and `file`, and `/attach` in a chat: stores files and returns them."""

import asyncio
import errno
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thoughtcycle.cli.call import Call
from thoughtcycle.cli.files import new_file
from thoughtcycle.cli.memories import Id, find
from thoughtcycle.cli.options import TEXTS, Yes, one_line
from thoughtcycle.errors import InputRefused

if TYPE_CHECKING:
    from thoughtcycle.memory.files import FileLimits
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.memory.model import MemoryRecord

ATTACH = ("/attach", "/anexar")


def attach(
    path: Annotated[Path, typer.Argument(metavar="PATH", help=TEXTS["argument.attach"])],
    caption: Annotated[str, typer.Option("--caption", help=TEXTS["option.caption"])] = "",
    *,
    call: Call,
) -> None:
    limits = call.settings.limits.files
    record = call.with_memory(
        lambda memory, user: store_file(memory, user, path, caption, limits), embeddings=True
    )
    call.print(record.model_dump(mode="json"), describe_file(record))


def file(
    id: Id,
    out: Annotated[Path, typer.Option("--out", help=TEXTS["option.out"])],
    call: Call,
    yes: Yes = False,
) -> None:
    async def work(memory: "Memory", user: str) -> bytes:
        return await memory.file(user, (await find(memory, user, id)).id)

    data = call.with_memory(work)
    with new_file(out, replace=yes) as target:
        target.write(data)
    size = len(data)
    call.print({"file": str(out), "bytes": size}, TEXTS.fill("file.written", file=out, size=size))


async def store_file(
    memory: "Memory", user: str, path: Path, caption: str, limits: "FileLimits"
) -> "MemoryRecord":
    """Stores the file at `path` as a memory; InputRefused('file_unopened') when it cannot be read."""
    data = await asyncio.to_thread(_read, path, limits.bytes + 1)
    return await memory.attach(user, path.name, data, caption=caption, limits=limits)


def _read(path: Path, most: int) -> bytes:
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        if not path.is_file():  # nor a device that never ends
            raise FileNotFoundError(errno.ENOENT, "")
        with path.open("rb") as source:
            return source.read(most)
    except (OSError, ValueError) as error:
        cause = error if isinstance(error, OSError) else OSError(errno.ENOENT, "")  # a NUL in its name
        raise InputRefused("file_unopened", path=repr(str(path)), cause=cause) from error


def describe_file(record: "MemoryRecord") -> str:
    """One line about a stored file, and whether all of its text can be found."""
    content = record.content
    line = one_line(record.text)
    if record.type == "image":
        values = {"width": content["width"], "height": content["height"]}
        return TEXTS.fill("attached.image", id=record.id[:8], line=line, **values)
    section = "attached.nothing" if not content["characters"] else "attached.document"
    section = section if content["complete"] else "attached.cut"
    return TEXTS.fill(section, id=record.id[:8], line=line, count=content["characters"])


def parse_attach(line: str) -> tuple[Path, str]:
    """Path and caption of `/attach PATH [caption]`; a path with spaces stands in quotes.

    InputRefused('file_missing') when the line names none.
    """
    rest = line.strip().partition(" ")[2].strip()
    try:
        words = shlex.split(rest)
    except ValueError:  # a lone quotation mark
        words = rest.split()
    if not words:
        raise InputRefused("file_missing")
    return Path(words[0]).expanduser(), " ".join(words[1:])
