"""The files among the user's memories: taken in, and given back to be saved, never to be shown."""

from typing import Annotated
from urllib.parse import quote

from fastapi import Form, Response, UploadFile

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.web.api.routing import api
from thoughtcycle.web.server.dependencies import CurrentUser, MemoryDep, ServerDep

router = api("/api/memories", "memories")


@router.post("/files", status_code=201)
async def attach(
    file: UploadFile,
    user: CurrentUser,
    memory: MemoryDep,
    server: ServerDep,
    caption: Annotated[str, Form(max_length=2_000)] = "",
) -> MemoryRecord:
    """Keeps an image or a document as a memory that is found by its text (LM-15)."""
    limits = server.settings.limits.files
    data = await file.read(limits.bytes + 1)
    name = file.filename or ""
    return await memory.attach(user, name, data, caption=caption, claimed=file.content_type, limits=limits)


@router.get("/{id}/file", response_class=Response)
async def download(id: str, user: CurrentUser, memory: MemoryDep) -> Response:
    """The file of a memory, byte for byte."""
    data = await memory.file(user, id)
    record = await memory.get(user, id)
    if record is None or not isinstance(record.content, dict):  # erased meanwhile
        raise NotAllowed("memory_not_listed", id=repr(id))
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(str(record.content['name']), safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }
    return Response(data, media_type=str(record.content["media_type"]), headers=headers)
