"""`thoughtcycle memories`: lists, searches, explains, changes and erases memories."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from thoughtcycle.cli.call import Call, CommandGroup, confirm
from thoughtcycle.cli.options import (
    TEXTS,
    Flag,
    Yes,
    check_names,
    check_time,
    one_line,
    print_json,
    ui_language,
)
from thoughtcycle.cli.proof import Also, Prove, new_receipt, print_erased, prover
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
from thoughtcycle.memory.redaction import listed, listed_history, listed_undo
from thoughtcycle.memory.text.secrets import answering, masked
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.memory.versioning.undo import nothing_to_undo

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.factory import Saver
    from thoughtcycle.memory.erasure import Receipt
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.memory.search import Provenance, Quote
    from thoughtcycle.proof.receipt import ProofReceipt

app = CommandGroup(help=TEXTS["help.memories"], no_args_is_help=True)

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


def _print(records: list[MemoryRecord], call: Call) -> None:
    rows = [
        (
            record.id[:8],
            one_line(record.text),
            record.kind or "–",
            TEXTS[f"status.{record.status}"],
            f"{record.valid_from:%Y-%m-%d}",
        )
        for record in records
    ]
    values = (record.model_dump(mode="json") for record in records)
    call.print_list(values, TEXTS["columns"], rows, TEXTS["none"])


@app.command("list", help=TEXTS["help.list"])
def list_(
    call: Call,
    every: Annotated[bool, Flag("--all", help=TEXTS["option.all"])] = False,
    status: Annotated[list[str] | None, typer.Option("--status", help=TEXTS["option.status"])] = None,
    at: At = None,
    limit: Limit = 100,
) -> None:
    wanted = frozenset(check_names(status, LISTED, "--status") or ["active"])
    statuses: tuple[Status, ...] = LISTED if every else tuple(one for one in LISTED if wanted & {one})
    then = check_time(at, "--at")
    found = call.with_memory(
        lambda memory, user: memory.list(user, statuses=statuses, at=then, limit=limit), embeddings=True
    )
    _print(list(map(listed, found)), call)


@app.command(help=TEXTS["help.search"])
def search(
    query: Annotated[str, typer.Argument(help=TEXTS["argument.query"])],
    call: Call,
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
    found = call.with_memory(
        lambda memory, user: memory.search(user, query, limit=limit, **options), embeddings=True
    )
    hits = [(hit, answering(hit.record, query)) for hit in found if isinstance(hit, MemoryHit)]
    if not call.as_json:
        _print([record for _, record in hits], call)
        return
    for hit, record in hits:
        matched = hit.matched if record is hit.record else masked(hit.matched)
        print_json(
            {"relevance": round(hit.relevance, 4), "matched": matched} | record.model_dump(mode="json")
        )


@app.command(help=TEXTS["help.show"])
def show(
    id: Id, call: Call, reveal: Annotated[bool, Flag("--reveal", help=TEXTS["option.reveal"])] = False
) -> None:
    async def work(memory: "Memory", user: str) -> tuple[MemoryRecord, list[JournalEntry], Access | None]:
        record = await find(memory, user, id)
        found = await memory.accesses(user, [record.id])
        return record, await memory.history(user, record.id), found.get(record.id)

    found, rows, access = call.with_memory(work, embeddings=True)
    history, record = listed_history(found, rows), listed(found)
    if reveal and found.status not in ("hidden", "erased"):
        record = found
    if call.as_json:
        entries = [entry.model_dump(mode="json") for entry in history]
        counted = {"access_count": access.count if access else 0, "last_access": access and access.last}
        print_json(record.model_dump(mode="json") | counted | {"history": entries})
        return
    _print([record], call)
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
def history(id: Id, call: Call) -> None:
    async def work(memory: "Memory", user: str) -> list[JournalEntry]:
        record = await find(memory, user, id)
        return listed_history(record, await memory.history(user, record.id))

    entries = call.with_memory(work, embeddings=True)
    if not call.as_json:
        _print_history(entries)
        return
    for entry in entries:
        print_json(entry.model_dump(mode="json"))


@app.command(help=TEXTS["help.why"])
def why(id: Id, call: Call) -> None:
    async def work(memory: "Memory", user: str) -> "Provenance":
        return await memory.why(user, (await find(memory, user, id)).id)

    found = call.with_memory(work, embeddings=True).without_secrets()
    if call.as_json:
        print_json(found.model_dump(mode="json"))
        return
    _print([found.record], call)
    origin = _origin_line(found.origin) if found.origin else TEXTS["origin.unknown"]
    typer.echo(f"{TEXTS['origin']}: {origin}")
    typer.echo(f"{TEXTS['history']}:")
    for change in found.changes:
        typer.echo(f"  {change.at:%Y-%m-%d %H:%M} {TEXTS[f'op.{change.op}']}: {one_line(change.content)}")
        if change.asked is not None and change.asked != found.origin:
            typer.echo(f"    {_origin_line(change.asked)}")


def _origin_line(said: "Quote") -> str:
    """The words, their speaker, time and chat."""
    who = said.name or TEXTS[f"role.{said.role}"]
    return one_line(f"{said.at:%Y-%m-%d %H:%M} ({said.channel}, {said.chat[:8]}) {who}: {said.text}")


@app.command(help=TEXTS["help.edit"])
def edit(id: Id, content: Annotated[str, typer.Argument(help=TEXTS["argument.content"])], call: Call) -> None:
    if not content.strip():
        raise InputRefused("memory_empty")

    async def work(memory: "Memory", user: str) -> MemoryRecord:
        record = await find(memory, user, id)
        return await memory.update(user, record.id, content=content.strip(), correction=True)

    _print_change(call.with_memory(work, embeddings=True), call, "edited")


@app.command(help=TEXTS["help.delete"])
def delete(ids: Ids, call: Call) -> None:
    _change(ids, call, "hidden", lambda memory, user, found: memory.hide(user, found))


@app.command(help=TEXTS["help.pin"])
def pin(ids: Ids, call: Call) -> None:
    _change(ids, call, "pinned", lambda memory, user, found: memory.pin(user, found))


@app.command(help=TEXTS["help.unpin"])
def unpin(ids: Ids, call: Call) -> None:
    _change(ids, call, "unpinned", lambda memory, user, found: memory.unpin(user, found))


@app.command(help=TEXTS["help.archive"])
def archive(ids: Ids, call: Call) -> None:
    _change(ids, call, "archived", lambda memory, user, found: memory.archive(user, found))


@app.command(help=TEXTS["help.restore"])
def restore(ids: Ids, call: Call) -> None:
    _change(ids, call, "restored", lambda memory, user, found: memory.restore(user, found))


def _change(
    ids: list[str],
    call: Call,
    section: str,
    change: "Callable[[Memory, str, list[str]], Awaitable[list[MemoryRecord]]]",
) -> None:
    """Finds the memories, changes them and prints a line for each."""

    async def work(memory: "Memory", user: str) -> list[MemoryRecord]:
        return await change(memory, user, [(await find(memory, user, id)).id for id in ids])

    for record in call.with_memory(work, embeddings=True):
        _print_change(record, call, section)


@app.command(help=TEXTS["help.undo"])
def undo(call: Call, id: Annotated[str | None, typer.Argument(help=TEXTS["argument.id"])] = None) -> None:
    async def work(memory: "Memory", user: str) -> tuple[UndoResult, JournalEntry]:
        record = await find(memory, user, id) if id is not None else None
        result = await memory.undo(user, record.id if record else None)
        if result.undone is None:
            raise nothing_to_undo(record)
        return result, result.undone

    result, undone = call.with_memory(work, embeddings=True)
    lines = [_undo_line(undone, result.record)]
    lines += [_undo_line(undone, other) for other in result.others]
    call.print(listed_undo(result).model_dump(mode="json"), "\n".join(lines))


def _undo_line(change: JournalEntry, record: MemoryRecord | None) -> str:
    """One line about the undone change and the memory that came back."""
    values = {"op": TEXTS[f"op.{change.op}"], "id": (record.id if record else change.memory)[:8]}
    text = one_line(listed(record).text) if record is not None else HIDDEN
    if record is None or record.status in ("hidden", "erased"):
        return TEXTS.fill("undone.gone", text=text, **values)
    return TEXTS.fill("undone", text=text, status=TEXTS[f"status.{record.status}"], **values)


def _print_change(record: MemoryRecord, call: Call, section: str) -> None:
    call.print(listed(record).model_dump(mode="json"), TEXTS.fill(section, id=record.id[:8]))


@app.command(help=TEXTS["help.erase"])
def erase(ids: Ids, call: Call, prove: Prove = False, also: Also = None, yes: Yes = False) -> None:
    async def work(memory: "Memory", saver: "Saver", user: str) -> "tuple[Receipt, ProofReceipt | None]":
        from thoughtcycle.checkpoints.erasure import bound

        bound(memory, saver)
        found = [(await find(memory, user, id)).id for id in ids]
        proof = prover(call, memory, saver, user, also)
        if prove and not yes:
            words = " · ".join(one_line(masked(word)) for word in await proof.words_of(found))
            typer.echo(TEXTS.fill("erase.words", words=words), err=True)
        confirm(TEXTS.fill("erase.ask", count=len(found)), yes)
        return await proof.erase(found) if prove else (await memory.erase(user, found), None)

    path = new_receipt() if prove else None
    receipt, proof = call.with_threads(work)
    print_erased(call, receipt.model_dump(mode="json"), receipt.text(ui_language()), proof, path)
