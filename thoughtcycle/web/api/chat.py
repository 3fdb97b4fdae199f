"""Chat: a message, its reply as server-sent events, another reply, an edited message, stop."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Literal

from fastapi import Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import AfterValidator, BaseModel, Field

from thoughtcycle.errors import ThoughtcycleError
from thoughtcycle.memory.model import check_time_zone, new_id
from thoughtcycle.mind.base import Explain
from thoughtcycle.nodes.base.context import Context, check
from thoughtcycle.nodes.base.envelope import Wire
from thoughtcycle.web.api.routing import api
from thoughtcycle.web.server.dependencies import CurrentUser, OwnChatId, ServerDep, UserWithTokens
from thoughtcycle.web.server.failures import failure

router = api("/api/chats/{chat}", "chat")

Text = Annotated[str, Field(min_length=1)]


def _zone(name: str) -> str:
    check_time_zone(name)
    return name


Zone = Annotated[str, AfterValidator(_zone)]


class Manner(BaseModel):
    """Options of a turn; a missing one is as the user has set it."""

    language: Literal["auto", "pt", "en"] = "auto"
    time_zone: Zone | None = None
    smart_context: bool | None = None
    explain_actions: Explain | None = None
    incognito: bool = False


class Message(Manner):
    """The user's message."""

    message: Text
    id: str = Field(default_factory=new_id, min_length=1, max_length=200)
    """Sent again, the same id is the same message."""


class Edited(Manner):
    """A new text in the place of an earlier message."""

    message: Text
    replaces: str = Field(min_length=1, max_length=200)
    id: str = Field(default_factory=new_id, min_length=1, max_length=200)


class Stopped(BaseModel):
    """Whether a reply was running."""

    stopped: bool


@router.post("/messages", response_class=EventSourceResponse)
async def say(
    said: Message, chat: OwnChatId, user: UserWithTokens, server: ServerDep, request: Request
) -> AsyncIterator[ServerSentEvent]:
    """The reply: events `message` (see docs/api.md), at last `end`, or `failure` with code and message."""
    context = _context(user, said)
    async for event in _events(server.turns.say(context, chat, said.message, id=said.id), request):
        yield event


@router.post("/regenerate", response_class=EventSourceResponse)
async def regenerate(
    manner: Manner, chat: OwnChatId, user: UserWithTokens, server: ServerDep, request: Request
) -> AsyncIterator[ServerSentEvent]:
    """Another reply to the last message, as events."""
    async for event in _events(server.turns.regenerate(_context(user, manner), chat), request):
        yield event


@router.post("/edit", response_class=EventSourceResponse)
async def edit(
    said: Edited, chat: OwnChatId, user: UserWithTokens, server: ServerDep, request: Request
) -> AsyncIterator[ServerSentEvent]:
    """The reply to a message in the place of an earlier one, as events."""
    turn = server.turns.edit(_context(user, said), chat, said.replaces, said.message, new_id=said.id)
    async for event in _events(turn, request):
        yield event


@router.post("/stop")
async def stop(chat: OwnChatId, user: CurrentUser, server: ServerDep) -> Stopped:
    """Ends the reply that is being given; what was said of it is kept."""
    return Stopped(stopped=await server.turns.stop(user, chat))


def _context(user: str, manner: Manner) -> Context:
    asked = manner.model_dump(include=set(Manner.model_fields))
    return check(Context(user_id=user, channel="web", **asked))


async def _events(turn: AsyncGenerator[Wire, None], request: Request) -> AsyncIterator[ServerSentEvent]:
    """A turn as events. Its failure is one, because the answer's status has been sent by then."""
    try:
        async with aclosing(turn) as parts:
            async for part in parts:
                yield ServerSentEvent(data=part, event="message")
    except ThoughtcycleError as error:
        yield ServerSentEvent(data=failure(error, request), event="failure")
    yield ServerSentEvent(data={}, event="end")
