"""What is kept of each chat: recent exchanges, summaries, critical data, and how full its memory is."""

from typing import Annotated

from fastapi import Form, Response
from fastapi.responses import HTMLResponse

from thoughtcycle.memory.formatted import as_object
from thoughtcycle.memory.judgement import CRITICAL
from thoughtcycle.memory.overview import KeptChat
from thoughtcycle.memory.volume import usage
from thoughtcycle.web.dependencies import Chat, Engine, Server
from thoughtcycle.web.pages.exchanges import listed_chats, shown_title
from thoughtcycle.web.pages.rendering import Reader
from thoughtcycle.web.pages.routing import pages

router = pages(prefix="/conversations")

LISTED = 200


@router.get("")
async def conversations(reader: Reader, memory: Engine, server: Server) -> HTMLResponse:
    """The chats, the last used first."""
    volume = server.settings.limits.volume
    kept = {one.chat.id: one for one in await memory.kept_chats(reader.user, limit=LISTED)}
    last = {id: last_message(one) for id, one in kept.items()}
    chats = listed_chats([one.chat for one in kept.values()], last, reader.say("chat.nameless"))
    memories = {id: one.memory for id, one in kept.items()}
    shares = {id: usage(one, volume) for id, one in memories.items()}
    return reader.html("conversations.html", chats=chats, kept=memories, shares=shares, limit=volume.words)


@router.get("/{chat}")
async def conversation(reader: Reader, chat: Chat, memory: Engine, server: Server) -> HTMLResponse:
    """The memory of one chat."""
    volume = server.settings.limits.volume
    kept = await memory.kept_chat(reader.user, chat)
    return reader.html(
        "conversation.html",
        chat=chat,
        title=kept.chat.title or "",
        shown=shown_title(kept.chat.title, last_message(kept), reader.say("chat.nameless")),
        it=as_object(kept.memory, kept.recent, volume),
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


def last_message(kept: KeptChat) -> str:
    """What the user said last."""
    return kept.recent[-1].message.text if kept.recent else ""
