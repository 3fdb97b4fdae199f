"""The memory of each chat: recent exchanges, summaries, critical data, and how full it is."""

from typing import Annotated

from fastapi import Form, Response
from fastapi.responses import HTMLResponse

from thoughtcycle.memory.chats import KeptChat
from thoughtcycle.memory.model import CRITICAL
from thoughtcycle.memory.rules.rendering import render_object
from thoughtcycle.memory.rules.word_budget import usage_percent
from thoughtcycle.web.pages.chat_views import chat_list, chat_title
from thoughtcycle.web.pages.rendering import Reader
from thoughtcycle.web.pages.routing import pages
from thoughtcycle.web.server.dependencies import MemoryDep, OwnChatId, ServerDep

router = pages(prefix="/conversations")

LISTED = 200


@router.get("")
async def conversations(reader: Reader, memory: MemoryDep, server: ServerDep) -> HTMLResponse:
    """The chats, the last used first."""
    budget = server.settings.limits.word_budget
    found = await memory.kept_chats(reader.user, limit=LISTED)
    last = {one.chat.id: last_message(one) for one in found}
    chats = chat_list([one.chat for one in found], last, reader.say("chat.nameless"))
    memories = {one.chat.id: one.memory for one in found}
    shares = {id: usage_percent(one, budget) for id, one in memories.items()}
    return reader.html("conversations.html", chats=chats, kept=memories, shares=shares, limit=budget.words)


@router.get("/{chat}")
async def conversation(reader: Reader, chat: OwnChatId, memory: MemoryDep, server: ServerDep) -> HTMLResponse:
    """The memory of one chat."""
    budget = server.settings.limits.word_budget
    kept = await memory.kept_chat(reader.user, chat)
    return reader.html(
        "conversation.html",
        chat=chat,
        title=kept.chat.title or "",
        shown=chat_title(kept.chat.title, last_message(kept), reader.say("chat.nameless")),
        it=render_object(kept.memory, kept.recent, budget),
        critical=CRITICAL,
        limit=budget.words,
    )


@router.post("/{chat}/title")
async def rename(
    reader: Reader, chat: OwnChatId, memory: MemoryDep, title: Annotated[str, Form(max_length=1_000)] = ""
) -> Response:
    """Gives the chat another title, or takes it away."""
    await memory.rename_chat(reader.user, chat, title)
    return Response(headers={"HX-Refresh": "true"})


def last_message(kept: KeptChat) -> str:
    """The user's last message."""
    return kept.recent[-1].message.text if kept.recent else ""
