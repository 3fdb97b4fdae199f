"""`thoughtcycle memories`: lists, searches, explains and changes memories."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from thoughtcycle.cli.options import (
    TEXTS,
    Db,
    Flag,
    Json,
    User,
    check_names,
    check_time,
    one_line,
    print_json,
    reports_failures,
)
from thoughtcycle.cli.resources import with_memory
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.model import (
    LISTED,
    Access,
    JournalEntry,
    Kind,
    Layer,
    MemoryHit,
    MemoryRecord,
    Status,
    UndoResult,
)
from thoughtcycle.memory.redaction import listed, listed_history
from thoughtcycle.memory.text import HIDDEN, unasked
from thoughtcycle.memory.versioning import nothing_to_undo

if TYPE_CHECKING:
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.memory.search import Provenance, Said

app = typer.Typer(help=TEXTS["help.memories"], no_args_is_help=True)

Id = Annotated[str, typer.Argument(help=TEXTS["argument.id"])]
Ids = Annotated[list[str], typer.Argument(help=TEXTS["argument.id"])]
Limit = Annotated[int, typer.Option("--limit", min=1, help=TEXTS["option.limit"])]
At = Annotated[str | None, typer.Option("--at", help=TEXTS["option.at"])]


async def find(memory: "Memory", user: str, id: str) -> MemoryRecord:
    """The user's memory of that id or beginning of an id, whatever its status."""
    if (record := await memory.get(user, id)) is not None:
        return record
    if not id.strip():
        raise NotAllowed("memory_not_listed", id=repr(id))
    found = [record for record in await memory.list(user, statuses=LISTED) if record.id.startswith(id)]
    if len(found) > 1:
        raise InputRefused("memory_ambiguous", id=repr(id), count=len(found))
    if not found:
        raise NotAllowed("memory_not_listed", id=repr(id))
    return found[0]


def _print(records: list[MemoryRecord], as_json: bool) -> None:
    records = list(map(listed, records))
    if as_json:
        for record in records:
            print_json(record.model_dump(mode="json"))
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
            TEXTS[f"status.{record.status}"],
            f"{record.valid_from:%Y-%m-%d}",
        )
        table.add_row(*(Text(cell) for cell in cells))
    Console().print(table)


@app.command("list", help=TEXTS["help.list"])
@reports_failures
def list_(
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    every: Annotated[bool, Flag("--all", help=TEXTS["option.all"])] = False,
    status: Annotated[list[str] | None, typer.Option("--status", help=TEXTS["option.status"])] = None,
    at: At = None,
    limit: Limit = 100,
) -> None:
    wanted = frozenset(check_names(status, LISTED, "--status") or ["active"])
    statuses: tuple[Status, ...] = LISTED if every else tuple(one for one in LISTED if wanted & {one})
    then = check_time(at, "--at")

    def work(memory: "Memory", who: str) -> Awaitable[list[MemoryRecord]]:
        return memory.list(who, statuses=statuses, at=then, limit=limit)

    found = with_memory(db, user, work)
    _print(found if as_json else list(map(unasked, found)), as_json)


@app.command(help=TEXTS["help.search"])
@reports_failures
def search(
    query: Annotated[str, typer.Argument(help=TEXTS["argument.query"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    limit: Limit = 5,
    kinds: Annotated[list[str] | None, typer.Option("--kind", help=TEXTS["option.kind"])] = None,
    layers: Annotated[list[str] | None, typer.Option("--layer", help=TEXTS["option.layer"])] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help=TEXTS["option.tag"])] = None,
    since: Annotated[str | None, typer.Option("--since", help=TEXTS["option.since"])] = None,
    until: Annotated[str | None, typer.Option("--until", help=TEXTS["option.until"])] = None,
    at: At = None,
    archived: Annotated[bool, Flag("--archived", help=TEXTS["option.archived"])] = False,
    recipe: Annotated[str, typer.Option("--recipe", help=TEXTS["option.recipe"])] = "adaptive",
) -> None:
    if not query.strip():
        raise InputRefused("query_empty")
    options: dict[str, Any] = {
        "kinds": check_names(kinds, get_args(Kind), "--kind"),
        "layers": check_names(layers, get_args(Layer), "--layer"),
        "tags": tags,
        "since": check_time(since, "--since"),
        "until": check_time(until, "--until"),
        "at": check_time(at, "--at"),
        "include": ("facts", "archived") if archived else ("facts",),
        "recipe": recipe,
    }

    async def work(memory: "Memory", who: str) -> list[MemoryHit]:
        hits = await memory.search(who, query, limit=limit, **options)
        return [hit for hit in hits if isinstance(hit, MemoryHit)]

    hits = with_memory(db, user, work)
    if as_json:
        for hit in hits:
            print_json(
                {"relevance": round(hit.relevance, 4), "matched": hit.matched}
                | hit.record.model_dump(mode="json")
            )
    else:
        _print([hit.record for hit in hits], as_json)


@app.command(help=TEXTS["help.show"])
@reports_failures
def show(id: Id, user: User = None, db: Db = None, as_json: Json = False) -> None:
    async def work(memory: "Memory", who: str) -> tuple[MemoryRecord, list[JournalEntry], Access | None]:
        record = await find(memory, who, id)
        found = await memory.accesses(who, [record.id])
        return record, await memory.history(who, record.id), found.get(record.id)

    found, rows, access = with_memory(db, user, work)
    record, history = listed(found), listed_history(found, rows)
    if as_json:
        entries = [entry.model_dump(mode="json") for entry in history]
        counted = {"access_count": access.count if access else 0, "last_access": access and access.last}
        print_json(record.model_dump(mode="json") | counted | {"history": entries})
        return
    _print([record], as_json)
    if record.source.words:
        typer.echo(f"{TEXTS['origin']}: {one_line(record.source.words)}")
    if access is not None:
        typer.echo(TEXTS.fill("accesses", count=access.count, last=f"{access.last:%Y-%m-%d %H:%M}"))
    typer.echo(f"{TEXTS['history']}:")
    _print_history(history)


def _print_history(entries: list[JournalEntry]) -> None:
    for entry in entries:
        former = f" ← {one_line(entry.before.text)}" if entry.before else ""
        typer.echo(f"  {entry.at:%Y-%m-%d %H:%M} {TEXTS[f'op.{entry.op}']}{former}")


@app.command(help=TEXTS["help.history"])
@reports_failures
def history(id: Id, user: User = None, db: Db = None, as_json: Json = False) -> None:
    async def work(memory: "Memory", who: str) -> list[JournalEntry]:
        record = await find(memory, who, id)
        return listed_history(record, await memory.history(who, record.id))

    entries = with_memory(db, user, work)
    if not as_json:
        _print_history(entries)
    for entry in entries if as_json else ():
        print_json(entry.model_dump(mode="json"))


@app.command(help=TEXTS["help.why"])
@reports_failures
def why(id: Id, user: User = None, db: Db = None, as_json: Json = False) -> None:
    async def work(memory: "Memory", who: str) -> "Provenance":
        return await memory.why(who, (await find(memory, who, id)).id)

    found = with_memory(db, user, work)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    _print([found.record], as_json)
    typer.echo(
        f"{TEXTS['origin']}: {_origin_line(found.origin) if found.origin else TEXTS['origin.unknown']}"
    )
    typer.echo(f"{TEXTS['history']}:")
    for change in found.changes:
        typer.echo(f"  {change.at:%Y-%m-%d %H:%M} {TEXTS[f'op.{change.op}']}: {one_line(change.content)}")
        if change.asked is not None and change.asked != found.origin:
            typer.echo(f"    {_origin_line(change.asked)}")


def _origin_line(said: "Said") -> str:
    """The words, their speaker, time and chat."""
    who = said.name or TEXTS[f"role.{said.role}"]
    return one_line(f"{said.at:%Y-%m-%d %H:%M} ({said.channel}, {said.chat[:8]}) {who}: {said.text}")


@app.command(help=TEXTS["help.edit"])
@reports_failures
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
        record = await find(memory, who, id)
        return await memory.update(who, record.id, content=content.strip(), correction=True)

    _change_line(with_memory(db, user, work), "edited", as_json)


@app.command(help=TEXTS["help.delete"])
@reports_failures
def delete(ids: Ids, user: User = None, db: Db = None, as_json: Json = False) -> None:
    async def work(memory: "Memory", who: str, found: list[str]) -> list[MemoryRecord]:
        return await memory.hide(who, found)

    _change(ids, work, "hidden", user, db, as_json)


@app.command(help=TEXTS["help.pin"])
@reports_failures
def pin(ids: Ids, user: User = None, db: Db = None, as_json: Json = False) -> None:
    async def work(memory: "Memory", who: str, found: list[str]) -> list[MemoryRecord]:
        return await memory.pin(who, found)

    _change(ids, work, "pinned", user, db, as_json)


@app.command(help=TEXTS["help.unpin"])
@reports_failures
def unpin(ids: Ids, user: User = None, db: Db = None, as_json: Json = False) -> None:
    async def work(memory: "Memory", who: str, found: list[str]) -> list[MemoryRecord]:
        return await memory.unpin(who, found)

    _change(ids, work, "unpinned", user, db, as_json)


@app.command(help=TEXTS["help.archive"])
@reports_failures
def archive(ids: Ids, user: User = None, db: Db = None, as_json: Json = False) -> None:
    async def work(memory: "Memory", who: str, found: list[str]) -> list[MemoryRecord]:
        return await memory.archive(who, found)

    _change(ids, work, "archived", user, db, as_json)


@app.command(help=TEXTS["help.restore"])
@reports_failures
def restore(ids: Ids, user: User = None, db: Db = None, as_json: Json = False) -> None:
    async def work(memory: "Memory", who: str, found: list[str]) -> list[MemoryRecord]:
        return await memory.restore(who, found)

    _change(ids, work, "restored", user, db, as_json)


def _change(
    ids: list[str],
    work: "Callable[[Memory, str, list[str]], Awaitable[list[MemoryRecord]]]",
    section: str,
    user: str | None,
    db: str | None,
    as_json: bool,
) -> None:
    """Finds the memories, changes them and prints the result."""

    async def change(memory: "Memory", who: str) -> list[MemoryRecord]:
        return await work(memory, who, [(await find(memory, who, id)).id for id in ids])

    for record in with_memory(db, user, change):
        _change_line(record, section, as_json)


@app.command(help=TEXTS["help.undo"])
@reports_failures
def undo(
    id: Annotated[str | None, typer.Argument(help=TEXTS["argument.id"])] = None,
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    async def work(memory: "Memory", who: str) -> tuple[UndoResult, JournalEntry]:
        record = await find(memory, who, id) if id is not None else None
        result = await memory.undo(who, record.id if record else None)
        if result.undone is None:
            raise nothing_to_undo(record)
        return result, result.undone

    result, undone = with_memory(db, user, work)
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        typer.echo(_undo_line(undone, result.record))


def _undo_line(change: JournalEntry, record: MemoryRecord | None) -> str:
    """One line about the undone change and the memory that came back."""
    told = {"op": TEXTS[f"op.{change.op}"], "id": change.memory[:8]}
    text = one_line(listed(record).text) if record is not None else HIDDEN
    if record is None or record.status in ("hidden", "erased"):
        return TEXTS.fill("undone.gone", text=text, **told)
    return TEXTS.fill("undone", text=text, status=TEXTS[f"status.{record.status}"], **told)


def _change_line(record: MemoryRecord, section: str, as_json: bool) -> None:
    if as_json:
        print_json(listed(record).model_dump(mode="json"))
    else:
        typer.echo(TEXTS.fill(section, id=record.id[:8]))
