"""One memory: what it says, why it is known, what it said before, and what may be done with it."""

from typing import Annotated, Any

from fastapi import Form
from fastapi.responses import HTMLResponse

from thoughtcycle.memory.masking import HIDDEN, listed, listed_history
from thoughtcycle.memory.media import file_of
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import MemoryRecord, utc_now
from thoughtcycle.memory.secrets import holds_secret
from thoughtcycle.memory.undoing import nothing_to_undo
from thoughtcycle.prompts.errors import InputRefused
from thoughtcycle.web.api.memories import CHANGES, Change, known
from thoughtcycle.web.dependencies import Engine
from thoughtcycle.web.pages.curves import curve
from thoughtcycle.web.pages.memories import Asked, changed, rows, whole
from thoughtcycle.web.pages.rendering import Page, Reader
from thoughtcycle.web.pages.routing import pages

router = pages(prefix="/memories/{id}")


@router.get("")
async def show(reader: Reader, id: str, memory: Engine, asked: Asked, reveal: bool = False) -> HTMLResponse:
    """The memory; over the list where somebody comes straight to it."""
    record = await known(memory, reader.user, id)
    if reader.part:
        return await _detail(reader, memory, record, reveal=reveal)
    detail = reader.text("parts/memory.html", **await _told(reader, memory, record, "", reveal))
    return await whole(reader, memory, asked, detail)


@router.get("/row")
async def row(reader: Reader, id: str, memory: Engine) -> HTMLResponse:
    """The memory as its row of the list."""
    record = await known(memory, reader.user, id)
    return reader.html("parts/memory_rows.html", rows=rows((record,)))


@router.post("/edit")
async def edit(
    reader: Reader, id: str, memory: Engine, content: Annotated[str, Form(max_length=20_000)] = ""
) -> HTMLResponse:
    """Corrects it: only the history remembers what it said."""
    if not content.strip():
        raise InputRefused("memory_empty")
    record = await memory.update(reader.user, id, content=content.strip(), correction=True)
    return await _detail(reader, memory, record, note=reader.say("changed.edit"))


@router.post("/erase")
async def erase(reader: Reader, id: str, memory: Engine) -> HTMLResponse:
    """Erases it for good, and tells what was erased."""
    receipt = await memory.erase(reader.user, [id])
    lines = receipt.text(reader.language).splitlines()
    return reader.html("parts/erased.html", headers=changed([id]), lines=lines)


@router.post("/undo")
async def undo(reader: Reader, id: str, memory: Engine) -> HTMLResponse:
    """Takes back its newest change."""
    result = await memory.undo(reader.user, id)
    if result.undone is None:
        raise nothing_to_undo(await known(memory, reader.user, id))
    note = reader.say("undone", op=reader.label(f"op.{result.undone.op}"))
    return await _detail(reader, memory, await known(memory, reader.user, id), note=note, undo=False)


@router.post("/{change}")
async def change(reader: Reader, id: str, change: Change, memory: Engine) -> HTMLResponse:
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
    """The memory after a change (`note`), which the list learns of."""
    told = await _told(reader, memory, record, note, reveal)
    headers = changed([record.id]) if note else None
    return reader.html("parts/memory.html", headers=headers, **{**told, "may_undo": bool(note) and undo})


async def _told(
    reader: Page, memory: Memory, record: MemoryRecord, note: str, reveal: bool
) -> dict[str, Any]:
    """What the template tells; of what is hidden or erased only that it is there."""
    seen = listed(record)
    readable = seen is record and record.status not in ("hidden", "erased")
    why = await memory.why(reader.user, record.id) if readable else None
    history = () if why else listed_history(record, await memory.history(reader.user, record.id))
    access = (await memory.accesses(reader.user, [record.id])).get(record.id)
    secret = readable and holds_secret(record.text)
    return {
        "record": seen,
        "text": seen.text if readable or record.status == "hidden" else HIDDEN,
        "secret": secret and not reveal,
        "file": file_of(record.content) is not None and readable,
        "why": why,
        "history": history,
        "access": access,
        "curve": curve(record, utc_now(), width=420, height=90),
        "note": note,
        "may_undo": False,
    }
