"""The user as a whole: profile, settings, briefing, figures, export, forgetting."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import UploadFile
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from thoughtcycle.errors import InputRefused
from thoughtcycle.evals.memory_metrics import memory_metrics
from thoughtcycle.evals.metrics import Metric
from thoughtcycle.memory.briefing import BuiltBriefing, Section
from thoughtcycle.memory.erasure import Farewell
from thoughtcycle.memory.model import Profile, UserSettings
from thoughtcycle.memory.storage import scratch_file
from thoughtcycle.memory.transfer import Imported, encoded
from thoughtcycle.runtime.forgetting import forget_user
from thoughtcycle.runtime.preview import LEAST, MOST, Wanted, preview
from thoughtcycle.web.api.chat import Zone
from thoughtcycle.web.api.routing import api
from thoughtcycle.web.server.dependencies import CurrentUser, MemoryDep, ServerDep, check_chat_owner

router = api("/api", "user")


class Preferences(BaseModel):
    """Changed settings: a missing field stays as it is, null restores the deployment's value."""

    smart_context: bool | None = None
    paused: bool = False
    language: Literal["pt", "en"] | None = None
    time_zone: Zone | None = None


class BriefingRequest(BaseModel):
    """A message, and how its briefing shall be made."""

    message: str = Field(min_length=1)
    chat: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    tokens: int | None = Field(default=None, ge=LEAST, le=MOST)
    recipe: Literal["layered", "compact"] | None = None
    smart: bool | None = None
    language: Literal["auto", "pt", "en"] = "auto"
    time_zone: Zone | None = None


class BriefingAnswer(BaseModel):
    """The briefing and its statistics."""

    text: str
    session: str
    tokens: int
    left_out: int
    sections: list[Section]


class Farewells(BaseModel):
    """The user's own id, as proof that the click was meant."""

    confirm: str


@router.post("/briefing", response_model=BriefingAnswer)
async def briefing(
    wanted: BriefingRequest, user: CurrentUser, memory: MemoryDep, server: ServerDep
) -> BuiltBriefing:
    """The briefing of a model for a message."""
    if wanted.chat is not None:
        await check_chat_owner(memory, user, wanted.chat)
    return await preview(memory, user, Wanted(**wanted.model_dump()), server.settings)


@router.get("/profile")
async def profile(user: CurrentUser, memory: MemoryDep) -> Profile:
    """Habits and preferences with their confidence, and the last moods."""
    return await memory.profile(user)


@router.get("/settings")
async def settings(user: CurrentUser, memory: MemoryDep) -> UserSettings:
    """The user's settings."""
    return await memory.settings(user)


@router.patch("/settings")
async def change_settings(changed: Preferences, user: CurrentUser, memory: MemoryDep) -> UserSettings:
    """Changes what was sent, and nothing else."""
    return await memory.change_settings(user, **changed.model_dump(exclude_unset=True))


@router.get("/metrics")
async def metrics(user: CurrentUser, memory: MemoryDep) -> list[Metric]:
    """How well the user's memory serves (LM-14)."""
    return await memory_metrics(memory, user)


@router.get("/export", response_class=StreamingResponse)
async def export(user: CurrentUser, memory: MemoryDep) -> StreamingResponse:
    """All that is kept of the user, as JSON lines (docs/export.md)."""

    async def lines() -> AsyncIterator[bytes]:
        async for line in memory.export(user):
            yield encoded(line)

    headers = {"Content-Disposition": 'attachment; filename="thoughtcycle.jsonl"'}
    return StreamingResponse(lines(), media_type="application/x-ndjson", headers=headers)


@router.post("/import")
async def import_file(file: UploadFile, user: CurrentUser, memory: MemoryDep) -> Imported:
    """Takes in an export of this program, of ChatGPT or of Claude; twice adds nothing."""
    scratch = ExitStack()
    path = await asyncio.to_thread(scratch.enter_context, scratch_file())
    try:
        await asyncio.to_thread(_copy, file.file, path)
        return await memory.import_file(user, path)
    except InputRefused as refused:  # it names the file as the user knows it
        refused.values |= dict.fromkeys({"path", "name"} & refused.values.keys(), file.filename or "file")
        raise
    finally:
        await asyncio.to_thread(scratch.close)


def _copy(source: BinaryIO, to: Path) -> None:
    with to.open("wb") as target:
        shutil.copyfileobj(source, target)


@router.post("/forget")
async def forget(farewell: Farewells, user: CurrentUser, memory: MemoryDep, server: ServerDep) -> Farewell:
    """Erases everything of the user for good; `left` is what a scan of all tables finds afterwards."""
    if farewell.confirm != user:
        raise InputRefused("bad_field", name="confirm", expected=repr(user))
    async with server.turns.closing_user(user):
        return await forget_user(memory, server.resources.checkpointer, user)


@router.get("/stats")
async def stats(user: CurrentUser, memory: MemoryDep) -> dict[str, Any]:
    """How much is kept of the user."""
    census = await memory.stats(user)
    totals = {name: getattr(census, name) for name in ("chats", "cycles", "changes", "pending", "bytes")}
    return {"memories": census.by_status, "sheets": dict(census.sheets), **totals}
