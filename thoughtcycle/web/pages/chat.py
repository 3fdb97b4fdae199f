"""The chat page: the user's chats, one of them with its messages, and the details of its last turn."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Form, Query, Response
from fastapi.responses import HTMLResponse

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, new_id
from thoughtcycle.memory.text.secrets import masked
from thoughtcycle.runtime.forgetting import delete_chat
from thoughtcycle.web.pages.chat_views import ChatListItem, briefing_view, chat_list, exchanges, step_views
from thoughtcycle.web.pages.rendering import Page, Reader
from thoughtcycle.web.pages.routing import pages
from thoughtcycle.web.server.dependencies import MemoryDep, OwnChatId, ServerDep, ServerState

router = pages()

CHATS = 40
"""Chats in the list, the last used first."""
EXCHANGES = 15
"""Exchanges shown at once; older ones are loaded on scrolling up."""


@router.get("/")
async def new(reader: Reader, memory: MemoryDep, server: ServerDep) -> HTMLResponse:
    """A new chat, which exists from its first message on."""
    return await _chat(reader, memory, server, new_id())


@router.get("/chats")
async def chats(
    reader: Reader, memory: MemoryDep, current: Annotated[str, Query(max_length=200)] = ""
) -> HTMLResponse:
    """The list of chats."""
    return reader.html("parts/chats.html", chats=await listed(reader, memory), current=current)


@router.get("/chats/{chat}")
async def chat(reader: Reader, chat: OwnChatId, memory: MemoryDep, server: ServerDep) -> HTMLResponse:
    """A chat with its last messages."""
    return await _chat(reader, memory, server, chat)


async def _chat(reader: Page, memory: Memory, server: ServerState, chat: str) -> HTMLResponse:
    """The page of a chat; while the database is away, a notice, and messages are taken all the same."""

    async def read() -> tuple[list[ChatListItem], list[Cycle] | None]:
        return await listed(reader, memory), await _cycles(reader, memory, chat)

    pending = server.turns.pending(reader.user, chat)  # first: a turn that ends now is among the cycles
    stored = await memory.availability.read(read, None)
    chats, cycles = stored or ([], None)
    shown = cycles or []
    return reader.html(
        "chat.html",
        chats=chats,
        current=chat,
        exists=cycles is not None,
        away=stored is None,
        exchanges=exchanges(shown),
        before=shown[0].parent if len(shown) == EXCHANGES else None,
        coming=None in pending,
        following=[{**asdict(one), "shown": masked(one.text)} for one in pending if one is not None],
        since=shown[-1].id if shown else "",
        rules=server.resources.services.mind.by_rules,
    )


async def _cycles(reader: Page, memory: Memory, chat: str) -> list[Cycle] | None:
    """The last cycles of a chat; None where it does not exist: reading it would claim it."""
    if await memory.chat(reader.user, chat) is None:
        return None
    return await memory.conversation(reader.user, chat, limit=EXCHANGES)


@router.get("/chats/{chat}/coming")
async def coming(
    reader: Reader,
    chat: OwnChatId,
    memory: MemoryDep,
    server: ServerDep,
    since: Annotated[str, Query(max_length=200)] = "",
) -> HTMLResponse:
    """The cycles after `since`, once the pending reply has ended."""
    if server.turns.is_busy(reader.user, chat):
        return reader.html("parts/coming.html", current=chat, since=since)
    cycles = await _cycles(reader, memory, chat) or []  # the chat may be deleted, or incognito
    known = next((place for place, one in enumerate(cycles) if one.id == since), -1)
    return reader.html("parts/came.html", current=chat, exchanges=exchanges(cycles[known + 1 :]))


@router.get("/chats/{chat}/older")
async def older(
    reader: Reader, chat: OwnChatId, memory: MemoryDep, before: Annotated[str, Query(max_length=200)]
) -> HTMLResponse:
    """The exchanges up to the cycle `before`."""
    cycles = await memory.conversation(reader.user, chat, limit=EXCHANGES, tip=before)
    return reader.html(
        "parts/older.html",
        current=chat,
        exchanges=exchanges(cycles),
        before=cycles[0].parent if len(cycles) == EXCHANGES else None,
    )


@router.get("/chats/{chat}/turn")
async def turn(
    reader: Reader, chat: OwnChatId, memory: MemoryDep, server: ServerDep, incognito: bool = False
) -> HTMLResponse:
    """The briefing and the steps of the last turn."""
    state = await server.turns.last(reader.user, chat, incognito=incognito)
    settings = server.settings
    mask = await memory.erasure.mask(reader.user)
    return reader.html(
        "parts/turn.html",
        given=briefing_view(state, settings.limits.briefing_tokens, settings.prices, mask),
        steps=step_views(state.get("steps", ())),
    )


@router.get("/chats/{chat}/turns/{cycle}")
async def former_turn(reader: Reader, chat: OwnChatId, cycle: str, memory: MemoryDep) -> HTMLResponse:
    """The stored steps of an earlier turn, and the memories shown in it."""
    found = await memory.transcript.cycle(reader.user, cycle)
    if found is None or found.chat != chat:
        raise NotAllowed("cycle_unknown", id=repr(cycle))
    reply = found.variants[-1] if found.variants else None
    shown = await memory.active(reader.user, reply.shown if reply else ())
    return reader.html(
        "parts/former_turn.html",
        shown=shown,
        steps=step_views(reply.steps if reply else [step for _, step, _ in found.progress]),
    )


@router.post("/chats/{chat}/title")
async def rename(
    reader: Reader, chat: OwnChatId, memory: MemoryDep, title: Annotated[str, Form(max_length=1_000)] = ""
) -> HTMLResponse:
    """Changes the title of the chat; an empty one removes it."""
    await memory.rename_chat(reader.user, chat, title)
    return reader.html("parts/chats.html", chats=await listed(reader, memory), current=chat)


@router.post("/chats/{chat}/delete")
async def delete(reader: Reader, chat: OwnChatId, server: ServerDep, memory: MemoryDep) -> Response:
    """Erases the chat for good, with what was learned in it alone."""
    async with server.turns.closing_chat(reader.user, chat):
        await delete_chat(memory, server.resources.checkpointer, reader.user, chat)
    return Response(headers={"HX-Redirect": "/"})


async def listed(reader: Page, memory: Memory) -> list[ChatListItem]:
    """The user's chats as a list shows them, the last used first."""
    found = await memory.chats(reader.user, limit=CHATS)
    tips = {one.tip: one.id for one in found if one.title is None and one.tip is not None}
    last = {tips[one.id]: one.message.text for one in await memory.transcript.cycles(reader.user, list(tips))}
    return chat_list(found, last, reader.say("chat.nameless"))
