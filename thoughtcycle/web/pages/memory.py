"""One memory: content, origin, history, and actions on it."""

from typing import Annotated, Any

from fastapi import Form
from fastapi.responses import HTMLResponse

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryRecord, file_of, utc_now
from thoughtcycle.memory.redaction import listed, listed_history
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.memory.versioning.undo import nothing_to_undo
from thoughtcycle.web.api.memories import CHANGES, Change, existing_memory
from thoughtcycle.web.pages.memories import ListQueryDep, change_headers, full_page, rows
from thoughtcycle.web.pages.proofs import Ticked, prover, shown
from thoughtcycle.web.pages.rendering import Page, Reader
from thoughtcycle.web.pages.routing import pages
from thoughtcycle.web.pages.strength_curve import strength_curve
from thoughtcycle.web.server.dependencies import MemoryDep, ServerDep

router = pages(prefix="/memories/{id}")


@router.get("")
async def show(
    reader: Reader, id: str, memory: MemoryDep, asked: ListQueryDep, reveal: bool = False
) -> HTMLResponse:
    """The memory: for htmx the part alone, else open over the list."""
    record = await existing_memory(memory, reader.user, id)
    if reader.part:
        return await _detail(reader, memory, record, reveal=reveal)
    detail = reader.text("parts/memory.html", **await _template_values(reader, memory, record, "", reveal))
    return await full_page(reader, memory, asked, detail)


@router.get("/row")
async def row(reader: Reader, id: str, memory: MemoryDep) -> HTMLResponse:
    """The memory as its row of the list."""
    record = await existing_memory(memory, reader.user, id)
    return reader.html("parts/memory_rows.html", rows=rows((record,)))


@router.post("/edit")
async def edit(
    reader: Reader, id: str, memory: MemoryDep, content: Annotated[str, Form(max_length=20_000)] = ""
) -> HTMLResponse:
    """Corrects it; its former text stays in the history."""
    if not content.strip():
        raise InputRefused("memory_empty")
    record = await memory.update(reader.user, id, content=content.strip(), correction=True)
    return await _detail(reader, memory, record, note=reader.say("changed.edit"))


@router.post("/erase")
async def erase(
    reader: Reader, id: str, memory: MemoryDep, server: ServerDep, prove: Annotated[Ticked, Form()] = ""
) -> HTMLResponse:
    """Erases it for good, and shows the receipt; with `prove` the proof that it holds, too."""
    proof = None
    if prove:
        await existing_memory(memory, reader.user, id)
        async with server.proving:
            receipt, made = await prover(server, reader.user).erase([id])
        proof = shown(reader, server, made)
    else:
        receipt = await memory.erase(reader.user, [id])
    lines = dict.fromkeys((*receipt.text(reader.language).splitlines(), *(proof.lines if proof else ())))
    return reader.html("parts/erased.html", headers=change_headers([id]), lines=lines, proof=proof)


@router.post("/undo")
async def undo(reader: Reader, id: str, memory: MemoryDep) -> HTMLResponse:
    """Undoes its newest change."""
    result = await memory.undo(reader.user, id)
    record = await existing_memory(memory, reader.user, id)
    if result.undone is None:
        raise nothing_to_undo(record)
    note = reader.say("undone", op=reader.label(f"op.{result.undone.op}"))
    return await _detail(reader, memory, record, note=note, undo=False)


@router.post("/{change}")
async def change(reader: Reader, id: str, change: Change, memory: MemoryDep) -> HTMLResponse:
    """Pins, unpins, archives, restores or hides it."""
    (record,) = await CHANGES[change](memory, reader.user, [id])
    return await _detail(reader, memory, record, note=reader.say(f"changed.{change}", count=1))


async def _detail(
    reader: Page,
    memory: Memory,
    record: MemoryRecord,
    *,
    note: str = "",
    reveal: bool = False,
    undo: bool = True,
) -> HTMLResponse:
    """The memory; after a change a `note` says which, and the list is told to reload it."""
    values = await _template_values(reader, memory, record, note, reveal)
    headers = change_headers([record.id]) if note else None
    return reader.html("parts/memory.html", headers=headers, **{**values, "may_undo": bool(note) and undo})


async def _template_values(
    reader: Page, memory: Memory, record: MemoryRecord, note: str, reveal: bool
) -> dict[str, Any]:
    """The template's values; of a hidden or erased memory only that it exists."""
    seen = listed(record)
    readable = record.status not in ("hidden", "erased")
    why = (await memory.why(reader.user, record.id)).without_secrets() if readable else None
    history = () if why else listed_history(record, await memory.history(reader.user, record.id))
    access = (await memory.accesses(reader.user, [record.id])).get(record.id)
    secret = readable and not reveal and seen.text != record.text
    shown = record if readable and reveal else seen
    return {
        "record": seen,
        "text": shown.text if readable or record.status == "hidden" else HIDDEN,
        "secret": secret,
        "file": file_of(record.content) is not None and readable,
        "why": why,
        "history": history,
        "access": access,
        "curve": strength_curve(record, utc_now(), width=420, height=90),
        "note": note,
        "may_undo": False,
    }
