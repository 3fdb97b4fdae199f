"""What is kept of each chat: recent exchanges, summaries, critical data, and how full its memory is."""

from typing import Annotated

from fastapi import Form, Response
from fastapi.responses import HTMLResponse

from thoughtcycle.memory.ageing import WINDOW
from thoughtcycle.memory.formatted import as_object
from thoughtcycle.memory.judgement import CRITICAL
from thoughtcycle.memory.volume import usage
from thoughtcycle.prompts.errors import NotAllowed
from thoughtcycle.web.dependencies import Chat, Engine, Server
from thoughtcycle.web.pages.chat import listed
from thoughtcycle.web.pages.exchanges import shown_title
from thoughtcycle.web.pages.rendering import Page, Reader
from thoughtcycle.web.pages.routing import pages

router = pages(prefix="/conversations")

LISTED = 200


@router.get("")
async def conversations(reader: Reader, memory: Engine, server: Server) -> HTMLResponse:
    """The chats whose memory was made, the last used first."""
    volume = server.settings.limits.volume
    kept = {one.chat_id: one for one in await memory.conversation_memories(reader.user, limit=LISTED)}
    chats = await listed(reader, memory, LISTED)
    shares = {id: usage(one, volume) for id, one in kept.items()}
    return reader.html("conversations.html", chats=chats, kept=kept, shares=shares, limit=volume.words)


@router.get("/{chat}")
async def conversation(reader: Reader, chat: Chat, memory: Engine, server: Server) -> HTMLResponse:
    """The memory of one chat."""
    title, shown = await _title(reader, memory, chat)
    volume = server.settings.limits.volume
    known = await memory.conversation_memory(reader.user, chat)
    recent = await memory.conversation(reader.user, chat, limit=WINDOW)
    return reader.html(
        "conversation.html",
        chat=chat,
        title=title,
        shown=shown,
        it=as_object(known, recent, volume),
        critical=CRITICAL,
        limit=volume.words,
    )


@router.post("/{chat}/title")
async def rename(
    reader: Reader, chat: Chat, memory: Engine, title: Annotated[str, Form(max_length=1_000)] = ""
) -> Response:
    """Gives the chat another title, or takes it away."""
    await memory.rename_chat(reader.user, chat, title)
    return Response(headers={"HX-Refresh": "true"})


async def _title(reader: Page, memory: Engine, chat: str) -> tuple[str, str]:
    """The title, and what stands for one; NotAllowed where there is no such chat."""
    if (found := await memory.chat(reader.user, chat)) is None or found.tip is None:
        raise NotAllowed("chat_unknown", id=repr(chat))
    last = "" if found.title else (await memory.cycles(reader.user, [found.tip]))[0].message.text
    return found.title or "", shown_title(found.title, last, reader.say("chat.nameless"))
