"""The user's memories: search, list, save, change, undo, erase, history, origin and files."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import Form, Query, Response, UploadFile
from pydantic import BaseModel, Field

from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import (
    JournalEntry,
    Kind,
    Layer,
    Listed,
    MemoryDraft,
    MemoryHit,
    MemoryRecord,
    Receipt,
    Saved,
    Status,
    UndoResult,
    file_of,
)
from thoughtcycle.memory.redaction import listed, listed_history, listed_undo
from thoughtcycle.memory.search import FACTS, Part, Provenance
from thoughtcycle.memory.text.secrets import answering, masked
from thoughtcycle.web.api.routing import api
from thoughtcycle.web.server.dependencies import CurrentUser, MemoryDep, ServerDep

router = api("/api/memories", "memories")

PAGE = 50
ALL: tuple[Part, ...] = ("facts", "archived")
Limit = Annotated[int, Query(ge=1, le=500)]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class Hit(BaseModel):
    """A memory that a search found."""

    relevance: float
    """In [0, 1], comparable within one search only."""
    matched: str
    memory: MemoryRecord


class NewMemory(BaseModel):
    """A new memory."""

    content: Text
    kind: Kind | None = None
    bindings: list[Text] = Field(default=[], max_length=20)
    """Other words under which it is found."""
    tags: list[Text] = Field(default=[], max_length=20)


class Correction(BaseModel):
    """The corrected text of a memory."""

    content: Text
    correction: bool = True
    """False: it was true until now; the former version is kept as past."""


class Ids(BaseModel):
    """Several memories at once; all of them or none."""

    ids: list[str] = Field(min_length=1, max_length=500)


class Erasure(Ids):
    """Memories that are erased for good."""

    confirm: Literal[True]


Change = Literal["pin", "unpin", "archive", "restore", "hide"]
CHANGES: Mapping[str, Callable[[Memory, str, list[str]], Awaitable[list[MemoryRecord]]]] = {
    "pin": lambda memory, user, ids: memory.pin(user, ids),
    "unpin": lambda memory, user, ids: memory.unpin(user, ids),
    "archive": lambda memory, user, ids: memory.archive(user, ids),
    "restore": lambda memory, user, ids: memory.restore(user, ids),
    "hide": lambda memory, user, ids: memory.hide(user, ids),
}
"""Changes of several memories, all or none: one that is not the user's changes nothing."""


async def existing_memory(memory: Memory, user: str, id: str) -> MemoryRecord:
    """The user's memory; NotAllowed('memory_not_listed') without one."""
    if (record := await memory.get(user, id)) is None:
        raise NotAllowed("memory_not_listed", id=repr(id))
    return record


def without_file_text(record: MemoryRecord) -> MemoryRecord:
    """A memory as lists have it: of a file without its text, which only the memory itself shows."""
    return record if file_of(record.content) is None else record.model_copy(update={"bindings": ()})


@router.get("")
async def list_memories(
    user: CurrentUser,
    memory: MemoryDep,
    status: Annotated[list[Listed], Query()] = ["active"],  # noqa: B006  (FastAPI copies defaults)
    at: datetime | None = None,
    limit: Limit = PAGE,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
) -> list[MemoryRecord]:
    """The memories of these statuses, the last changed first, secrets masked; `at`: as believed then."""
    statuses: tuple[Status, ...] = tuple(status)
    found = await memory.list(user, statuses=statuses, at=at, limit=limit, offset=offset)
    return [without_file_text(listed(record)) for record in found]


@router.get("/search")
async def search(
    user: CurrentUser,
    memory: MemoryDep,
    query: Annotated[str, Query(min_length=1, max_length=10_000)],
    limit: Limit = 5,
    kind: Annotated[list[Kind] | None, Query()] = None,
    layer: Annotated[list[Layer] | None, Query()] = None,
    tag: Annotated[list[str] | None, Query()] = None,
    since: datetime | None = None,
    until: datetime | None = None,
    at: datetime | None = None,
    archived: bool = False,
) -> list[Hit]:
    """The memories that speak of `query`, best first; secrets masked unless the query asks for them."""
    hits = await memory.search(
        user,
        query,
        limit=limit,
        kinds=kind,
        layers=layer,
        tags=tag,
        since=since,
        until=until,
        at=at,
        include=ALL if archived else FACTS,
    )
    found = [(hit, answering(hit.record, query)) for hit in hits if isinstance(hit, MemoryHit)]
    return [
        Hit(
            relevance=hit.relevance,
            matched=hit.matched if record is hit.record else masked(hit.matched),
            memory=without_file_text(record),
        )
        for hit, record in found
    ]


@router.post("", status_code=201)
async def save(new: NewMemory, user: CurrentUser, memory: MemoryDep) -> Saved:
    """Saves a memory, and says what became of it: what was known already is not kept twice."""
    draft = MemoryDraft(
        content=new.content, kind=new.kind, bindings=tuple(new.bindings), tags=tuple(new.tags)
    )
    return (await memory.save(user, await memory.complete(user, [draft])))[0]


@router.post("/undo")
async def undo_last(user: CurrentUser, memory: MemoryDep) -> UndoResult:
    """Takes back the newest change of all, or all that one request hid; with nothing left, nulls."""
    return listed_undo(await memory.undo(user))


@router.post("/changes/{change}")
async def change(change: Change, wanted: Ids, user: CurrentUser, memory: MemoryDep) -> list[MemoryRecord]:
    """Pins, unpins, archives, restores or hides memories; one that is not theirs leaves all as it is."""
    return [listed(record) for record in await CHANGES[change](memory, user, wanted.ids)]


@router.post("/erase")
async def erase(wanted: Erasure, user: CurrentUser, memory: MemoryDep) -> Receipt:
    """Erases memories for good, with their words wherever they were said. Nothing brings them back."""
    return await memory.erase(user, wanted.ids)


@router.post("/files", status_code=201)
async def attach(
    file: UploadFile,
    user: CurrentUser,
    memory: MemoryDep,
    server: ServerDep,
    caption: Annotated[str, Form(max_length=2_000)] = "",
) -> MemoryRecord:
    """Stores an image or a document as a memory that is found by its text (LM-15)."""
    limits = server.settings.limits.files
    data = await file.read(limits.bytes + 1)
    name = file.filename or ""
    return await memory.attach(user, name, data, caption=caption, claimed=file.content_type, limits=limits)


@router.get("/{id}")
async def show(id: str, user: CurrentUser, memory: MemoryDep, reveal: bool = False) -> MemoryRecord:
    """One memory; its secrets are masked unless `reveal` asks for them."""
    record = await existing_memory(memory, user, id)
    return record if reveal and record.status not in ("hidden", "erased") else listed(record)


@router.patch("/{id}")
async def edit(id: str, said: Correction, user: CurrentUser, memory: MemoryDep) -> MemoryRecord:
    """Corrects a memory in place, or makes a new version of it."""
    if not said.content.strip():
        raise InputRefused("memory_empty")
    (new,) = await memory.complete(user, [MemoryDraft(content=said.content.strip())])
    return await memory.update(user, id, content=new.content, correction=said.correction)


@router.get("/{id}/history")
async def history(id: str, user: CurrentUser, memory: MemoryDep) -> list[JournalEntry]:
    """Every change of a memory, oldest first."""
    record = await existing_memory(memory, user, id)
    return listed_history(record, await memory.history(user, id))


@router.get("/{id}/why")
async def why(id: str, user: CurrentUser, memory: MemoryDep) -> Provenance:
    """Why it is known: the words it came from, where they were said, every change since; no secrets."""
    return (await memory.why(user, id)).without_secrets()


@router.post("/{id}/undo")
async def undo(id: str, user: CurrentUser, memory: MemoryDep) -> UndoResult:
    """Takes back the newest change of a memory."""
    return listed_undo(await memory.undo(user, id))


@router.get("/{id}/file", response_class=Response)
async def download(id: str, user: CurrentUser, memory: MemoryDep) -> Response:
    """The file of a memory, byte for byte."""
    data = await memory.file(user, id)
    record = await memory.get(user, id)
    if record is None or not isinstance(record.content, dict):  # erased in between
        raise NotAllowed("memory_not_listed", id=repr(id))
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(str(record.content['name']), safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }
    return Response(data, media_type=str(record.content["media_type"]), headers=headers)
