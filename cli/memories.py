"""`thoughtcycle memories`: list, search, show, edit, delete and undo what is kept."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from thoughtcycle.cli.options import TEXTS, Db, Flag, Json, User, check_user, one_line, put_json, reported
from thoughtcycle.memory.records import JournalEntry, MemoryRecord, Status, UndoResult
from thoughtcycle.prompts.errors import InputRefused, NotAllowed

if TYPE_CHECKING:
    from thoughtcycle.memory.memory import Memory

app = typer.Typer(help=TEXTS["help.memories"], no_args_is_help=True)

T = TypeVar("T")
Id = Annotated[str, typer.Argument(help=TEXTS["argument.id"])]
Limit = Annotated[int, typer.Option("--limit", min=1, help=TEXTS["option.limit"])]

EVERY: tuple[Status, ...] = ("active", "archived", "superseded", "hidden")


def _with_memory(db: str | None, user: str | None, work: "Callable[[Memory, str], Awaitable[T]]") -> T:
    """Opens the memory alone, without graph and models, and does the work."""
    from thoughtcycle.graph.settings import load_settings
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.mind.embeddings import build_embeddings
    from thoughtcycle.mind.roles import ModelSettings

    settings = load_settings()
    owner = check_user(user, settings.user)

    async def run() -> T:
        async with Memory.open(db or settings.url(), embeddings=build_embeddings(ModelSettings())) as memory:
            return await work(memory, owner)

    return asyncio.run(run())


async def _find(memory: "Memory", user: str, id: str) -> MemoryRecord:
    """The user's memory of that id or beginning of an id, whatever its status."""
    if (record := await memory.get(user, id)) is not None:
        return record
    if not id.strip():
        raise NotAllowed("memory_not_listed", id=repr(id))
    found = [record for record in await memory.list(user, statuses=EVERY) if record.id.startswith(id)]
    if len(found) > 1:
        raise InputRefused("memory_ambiguous", id=repr(id), count=len(found))
    if not found:
        raise NotAllowed("memory_not_listed", id=repr(id))
    return found[0]


def _print(records: list[MemoryRecord], as_json: bool) -> None:
    if as_json:
        for record in records:
            put_json(record.model_dump(mode="json"))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not records:
        typer.echo(TEXTS["none"])
        return
    table = Table(*TEXTS["columns"].split(", "), box=None, pad_edge=False)
    for record in records:
        cells = (
            record.id[:8],
            one_line(record.text),
            record.kind or "–",
            record.status,
            f"{record.valid_from:%Y-%m-%d}",
        )
        table.add_row(*(Text(cell) for cell in cells))
    Console().print(table)


@app.command("list", help=TEXTS["help.list"])
@reported
def list_(
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    every: Annotated[bool, Flag("--all", help=TEXTS["option.all"])] = False,
    limit: Limit = 100,
) -> None:
    statuses: tuple[Status, ...] = EVERY if every else ("active",)
    _print(
        _with_memory(db, user, lambda memory, who: memory.list(who, statuses=statuses, limit=limit)), as_json
    )


@app.command(help=TEXTS["help.search"])
@reported
def search(
    query: Annotated[str, typer.Argument(help=TEXTS["argument.query"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    limit: Limit = 5,
) -> None:
    hits = _with_memory(db, user, lambda memory, who: memory.search(who, query, limit=limit))
    if as_json:
        for hit in hits:
            put_json(
                {"relevance": round(hit.relevance, 4), "matched": hit.matched}
                | hit.record.model_dump(mode="json")
            )
    else:
        _print([hit.record for hit in hits], as_json)


@app.command(help=TEXTS["help.show"])
@reported
def show(id: Id, user: User = None, db: Db = None, as_json: Json = False) -> None:
    async def work(memory: "Memory", who: str) -> tuple[MemoryRecord, list[JournalEntry]]:
        record = await _find(memory, who, id)
        return record, await memory.history(who, record.id)

    record, history = _with_memory(db, user, work)
    if as_json:
        entries = [entry.model_dump(mode="json") for entry in history]
        put_json(record.model_dump(mode="json") | {"history": entries})
        return
    _print([record], as_json)
    if record.source.words:
        typer.echo(f"{TEXTS['origin']}: {one_line(record.source.words)}")
    typer.echo(f"{TEXTS['history']}:")
    for entry in history:
        former = f" ← {one_line(entry.before.text)}" if entry.before else ""
        typer.echo(f"  {entry.at:%Y-%m-%d %H:%M} {entry.op}{former}")


@app.command(help=TEXTS["help.edit"])
@reported
def edit(
    id: Id,
    content: Annotated[str, typer.Argument(help=TEXTS["argument.content"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    if not content.strip():
        raise InputRefused("memory_empty")

    async def work(memory: "Memory", who: str) -> MemoryRecord:
        record = await _find(memory, who, id)
        return await memory.update(who, record.id, content=content.strip(), correction=True)

    _changed(_with_memory(db, user, work), "edited", as_json)


@app.command(help=TEXTS["help.delete"])
@reported
def delete(
    ids: Annotated[list[str], typer.Argument(help=TEXTS["argument.id"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    async def work(memory: "Memory", who: str) -> list[MemoryRecord]:
        records = [await _find(memory, who, id) for id in ids]
        return await memory.hide(who, [record.id for record in records])

    for record in _with_memory(db, user, work):
        _changed(record, "hidden", as_json)


@app.command(help=TEXTS["help.undo"])
@reported
def undo(
    id: Annotated[str | None, typer.Argument(help=TEXTS["argument.id"])] = None,
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    async def work(memory: "Memory", who: str) -> UndoResult:
        record = await _find(memory, who, id) if id is not None else None
        return await memory.undo(who, record.id if record else None)

    result = _with_memory(db, user, work)
    if result.undone is None:
        raise InputRefused("nothing_to_undo")
    if as_json:
        put_json(result.model_dump(mode="json"))
    else:
        typer.echo(TEXTS.fill("undone", op=result.undone.op, id=result.undone.memory[:8]))


def _changed(record: MemoryRecord, section: str, as_json: bool) -> None:
    if as_json:
        put_json(record.model_dump(mode="json"))
    else:
        typer.echo(TEXTS.fill(section, id=record.id[:8]))
