"""The user's chats and what is kept of each: list, memory, transcript, title, deletion."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from thoughtcycle.errors import ChatUnknown
from thoughtcycle.memory.chats import Removed
from thoughtcycle.memory.rules.rendering import render_object
from thoughtcycle.memory.rules.word_budget import usage_percent
from thoughtcycle.memory.text.secrets import masked, masked_object
from thoughtcycle.runtime.forgetting import delete_chat
from thoughtcycle.web.api.routing import api
from thoughtcycle.web.server.dependencies import CurrentUser, MemoryDep, OwnChatId, ServerDep

router = api("/api/conversations", "conversations")


class Summary(BaseModel):
    """A chat and the size of its memory."""

    id: str
    title: str | None
    used: datetime
    cycles: int
    words: int
    usage_percent: float
    """Of the words that a chat's memory may have (CM-5)."""


class Title(BaseModel):
    """Another title; empty takes it away."""

    title: str = Field(max_length=500)


class Said(BaseModel):
    """One message."""

    id: str
    role: str
    text: str
    at: datetime
    cycle: str


@router.get("")
async def list_conversations(
    user: CurrentUser, memory: MemoryDep, server: ServerDep, limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> list[Summary]:
    """The chats, the last used first."""
    budget = server.settings.limits.word_budget
    return [
        Summary(
            id=one.chat.id,
            title=one.chat.title,
            used=one.chat.used,
            cycles=one.chat.cycles,
            words=one.memory.total_word_count,
            usage_percent=usage_percent(one.memory, budget),
        )
        for one in await memory.kept_chats(user, limit=limit)
    ]


@router.get("/{chat}")
async def show(chat: OwnChatId, user: CurrentUser, memory: MemoryDep, server: ServerDep) -> dict[str, Any]:
    """The memory of a chat as an agent gets it (CM-10), without secrets."""
    kept = await memory.kept_chat(user, chat)
    shown = render_object(kept.memory, kept.recent, server.settings.limits.word_budget)
    return {name: masked_object(value) for name, value in shown.items()}


@router.get("/{chat}/messages")
async def messages(
    chat: OwnChatId, user: CurrentUser, memory: MemoryDep, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> list[Said]:
    """The messages of the last `limit` exchanges on the chat's live branch, oldest first, without secrets."""
    await _check_exists(memory, user, chat)
    return [
        Said(id=message.id, role=message.role, text=masked(message.text), at=message.at, cycle=cycle.id)
        for cycle in await memory.conversation(user, chat, limit=limit)
        for message in (cycle.message, *(cycle.variants[-1].messages if cycle.variants else ()))
    ]


@router.patch("/{chat}")
async def rename(chat: OwnChatId, to: Title, user: CurrentUser, memory: MemoryDep) -> Title:
    """Gives the chat another title."""
    await memory.rename_chat(user, chat, to.title)
    return to


@router.delete("/{chat}")
async def delete(chat: OwnChatId, user: CurrentUser, memory: MemoryDep, server: ServerDep) -> Removed:
    """Erases a chat for good, with what was learned in it alone."""
    # its first turn may be running: then there is no chat yet
    async with server.turns.closing_chat(user, chat):
        await _check_exists(memory, user, chat)
        return await delete_chat(memory, server.resources.checkpointer, user, chat)


async def _check_exists(memory: MemoryDep, user: str, chat: str) -> None:
    """NotAllowed where the user has no such chat: reading one must not make it."""
    if await memory.chat(user, chat) is None:
        raise ChatUnknown(chat)
