"""Talking: the chats of a user, one of them with its messages, and what its last turn was given and did."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Form, Query, Response
from fastapi.responses import HTMLResponse

from thoughtcycle.graph.forgetting import delete_chat
from thoughtcycle.memory.ids import new_id
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.secrets import masked
from thoughtcycle.prompts.errors import NotAllowed, StorageFailed
from thoughtcycle.web.dependencies import Chat, Engine, Server
from thoughtcycle.web.pages.exchanges import ListedChat, exchanges, given, listed_chats, steps_done
from thoughtcycle.web.pages.rendering import Page, Reader
from thoughtcycle.web.pages.routing import pages
from thoughtcycle.web.serving import Serving

router = pages()

CHATS = 40
"""Chats in the list, the last used first."""
EXCHANGES = 15
"""Exchanges shown at once; older ones come when somebody scrolls up to them."""


@router.get("/")
async def new(reader: Reader, memory: Engine, server: Server) -> HTMLResponse:
    """A chat that does not exist until something is said in it."""
    return await _chat(reader, memory, server, new_id(), exists=False)


@router.get("/chats")
async def chats(
    reader: Reader, memory: Engine, current: Annotated[str, Query(max_length=200)] = ""
) -> HTMLResponse:
    """The list of chats."""
    return reader.html("parts/chats.html", chats=await listed(reader, memory), current=current)


@router.get("/chats/{chat}")
async def chat(reader: Reader, chat: Chat, memory: Engine, server: Server) -> HTMLResponse:
    """A chat with its last messages."""
    return await _chat(reader, memory, server, chat, exists=None)


async def _chat(
    reader: Page, memory: Memory, server: Serving, chat: str, *, exists: bool | None
) -> HTMLResponse:
    """The page; only a chat in which something was said is read, because reading one claims it.

    While the database is away it tells so, and takes messages that wait for it.
    """
    under_way = server.turns.under_way(reader.user, chat)  # first: what ends meanwhile is among the cycles
    known: list[ListedChat] = []
    cycles: list[Cycle] = []
    away = memory.unreadable
    try:
        if not away:
            known = await listed(reader, memory)
            exists = await memory.chat(reader.user, chat) is not None if exists is None else exists
            cycles = await memory.conversation(reader.user, chat, limit=EXCHANGES) if exists else []
    except StorageFailed as failure:
        if not memory.lost(failure):
            raise
        away = True
    return reader.html(
        "chat.html",
        chats=known,
        current=chat,
        exists=bool(exists) and not away,
        away=away,
        exchanges=exchanges(cycles),
        before=cycles[0].parent if len(cycles) == EXCHANGES else None,
        coming=None in under_way,
        following=[{**asdict(said), "shown": masked(said.text)} for said in under_way if said is not None],
        since=cycles[-1].id if cycles else "",
        rules=server.resources.services.mind.by_rules,
    )


@router.get("/chats/{chat}/coming")
async def coming(
    reader: Reader,
    chat: Chat,
    memory: Engine,
    server: Server,
    since: Annotated[str, Query(max_length=200)] = "",
) -> HTMLResponse:
    """What came behind the cycle `since`, once the reply is there that was under way before."""
    if server.turns.answering(reader.user, chat):
        return reader.html("parts/coming.html", current=chat, since=since)
    exists = await memory.chat(reader.user, chat) is not None  # it may be over, or incognito
    cycles = await memory.conversation(reader.user, chat, limit=EXCHANGES) if exists else []
    known = next((place for place, one in enumerate(cycles) if one.id == since), -1)
    return reader.html("parts/came.html", current=chat, exchanges=exchanges(cycles[known + 1 :]))


@router.get("/chats/{chat}/older")
async def older(
    reader: Reader, chat: Chat, memory: Engine, before: Annotated[str, Query(max_length=200)]
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
    reader: Reader, chat: Chat, memory: Engine, server: Server, incognito: bool = False
) -> HTMLResponse:
    """What the model was given in the last turn, and what it did."""
    state = await server.turns.last(reader.user, chat, incognito=incognito)
    settings = server.settings
    mask = await memory.mask(reader.user)
    return reader.html(
        "parts/turn.html",
        given=given(state, settings.limits.briefing_tokens, settings.prices, mask),
        steps=steps_done(state.get("steps", ())),
    )


@router.get("/chats/{chat}/turns/{cycle}")
async def former_turn(reader: Reader, chat: Chat, cycle: str, memory: Engine) -> HTMLResponse:
    """What is kept of an earlier turn: its steps, and the memories it was shown."""
    found = await memory.cycle(reader.user, cycle)
    if found is None or found.chat != chat:
        raise NotAllowed("cycle_unknown", id=repr(cycle))
    reply = found.variants[-1] if found.variants else None
    shown = await memory.active(reader.user, reply.shown if reply else ())
    return reader.html(
        "parts/former_turn.html",
        shown=shown,
        steps=steps_done(reply.steps if reply else [step for _, step, _ in found.progress]),
    )


@router.post("/chats/{chat}/title")
async def rename(
    reader: Reader, chat: Chat, memory: Engine, title: Annotated[str, Form(max_length=1_000)] = ""
) -> HTMLResponse:
    """Gives the chat another title, or takes it away."""
    await memory.rename_chat(reader.user, chat, title)
    return reader.html("parts/chats.html", chats=await listed(reader, memory), current=chat)


@router.post("/chats/{chat}/delete")
async def delete(reader: Reader, chat: Chat, server: Server, memory: Engine) -> Response:
    """Erases the chat for good, with what was learned in it alone."""
    async with server.turns.ended(reader.user, chat):
        await delete_chat(memory, server.resources.checkpointer, reader.user, chat)
    return Response(headers={"HX-Redirect": "/"})


async def listed(reader: Page, memory: Memory) -> list[ListedChat]:
    """The user's chats as a list shows them, the last used first."""
    found = await memory.chats(reader.user, limit=CHATS)
    tips = {one.tip: one.id for one in found if one.title is None and one.tip is not None}
    last = {tips[one.id]: one.message.text for one in await memory.cycles(reader.user, list(tips))}
    return listed_chats(found, last, reader.say("chat.nameless"))
