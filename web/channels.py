"""The door of messaging gateways: signed messages of senders who are users by a link (LM-13)."""

import asyncio
import hashlib
import hmac
import re
from typing import Annotated
from weakref import WeakValueDictionary

from fastapi import APIRouter, Path, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field, SecretStr

from thoughtcycle.memory.channels import ALPHABET, LENGTH, meant
from thoughtcycle.memory.volume import reply_text
from thoughtcycle.mind.language.detect import detect_language
from thoughtcycle.nodes.context import Context, check
from thoughtcycle.prompts.errors import InputRefused, NotAuthenticated, StorageFailed, TooMuch
from thoughtcycle.prompts.loader import Language, texts
from thoughtcycle.web.dependencies import Engine, Server
from thoughtcycle.web.gate import Gate, Handler
from thoughtcycle.web.limits import place_of
from thoughtcycle.web.serving import Serving
from thoughtcycle.web.signatures import verified

BODY_BYTES = 262_144
RECENT = 20
"""Exchanges among which a message that comes again is looked for."""

_LINK = re.compile(r"\s*/?(ligar|link)\s+(\S.{0,20})", re.IGNORECASE)


class Signed(APIRoute):
    """A route for gateways: the body is read, up to its limit, and parsed only when it is signed."""

    def get_route_handler(self) -> Handler:
        """The handler behind the signature."""
        handler = super().get_route_handler()

        async def enter(request: Request) -> Response:
            await check_signature(request)
            return await handler(request)

        return enter


router = APIRouter(prefix="/channels", tags=["channels"], route_class=Signed)


class Incoming(BaseModel):
    """A message that somebody sent on the channel."""

    sender: str = Field(min_length=1, max_length=200)
    """What the channel calls them, such as a phone number."""
    message: str = Field(min_length=1)
    id: str = Field(min_length=1, max_length=200)
    """The message's own: sent again, it is answered with the same reply."""


class Outgoing(BaseModel):
    """What to send back."""

    linked: bool
    """Whether the sender is a user."""
    reply: str


async def check_signature(request: Request) -> None:
    """NotAuthenticated('channel_signature'), whichever of channel, time and signature is wrong."""
    serving: Serving = request.app.state.serving
    gate: Gate = serving.gate
    known = serving.settings.channels.get(request.path_params["name"])
    secret = known.secret.get_secret_value().encode() if known is not None else None
    stamp, signature = (request.headers.get(name, "") for name in ("x-timestamp", "x-signature"))
    if not verified(secret, stamp, signature, await request.body(), serving.clock()):
        gate.attempts.take(place_of(request.client.host if request.client else None))
        raise NotAuthenticated("channel_signature")


@router.post("/{name}/messages", max_body_size=BODY_BYTES)
async def receive(
    name: Annotated[str, Path(max_length=40)], came: Incoming, server: Server, memory: Engine
) -> Outgoing:
    """Answers a signed message. A stranger is told how to be linked, and nothing of theirs is kept."""
    user = await memory.linked_user(name, came.sender)
    server.gate.requests.take(user or f"{name}\x1f{came.sender}")
    language = detect_language(came.message, server.resources.services.language)
    if (code := code_in(came.message)) is not None:
        return await _link(server, name, came, code)
    if user is None:
        return Outgoing(linked=False, reply=texts(language, "channels")["stranger"])
    server.gate.budget.check(user)
    return Outgoing(linked=True, reply=await _answer(server, user, name, came, language))


def code_in(message: str) -> str | None:
    """The code of "ligar 7K3M-Q01D" or "link 7K3M-Q01D"; None for any other message."""
    found = _LINK.fullmatch(message.strip())
    code = meant(found[2]) if found else ""
    return code if len(code) == LENGTH and set(code) <= set(ALPHABET) else None


async def _link(server: Serving, name: str, came: Incoming, code: str) -> Outgoing:
    language: Language = "pt" if came.message.strip(" /").casefold().startswith("ligar") else "en"
    memory = server.resources.services.memory
    try:
        await memory.link_channel(name, came.sender, code)
    except (InputRefused, TooMuch) as refused:
        linked = await memory.linked_user(name, came.sender) is not None
        return Outgoing(linked=linked, reply=refused.text(language))
    return Outgoing(linked=True, reply=texts(language, "channels")["linked"])


_running: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


async def _answer(server: Serving, user: str, name: str, came: Incoming, language: Language) -> str:
    """The reply of the turn; of a message that was answered already, its reply."""
    chat = chat_of(server.settings.channels[name].secret, user, name, came.sender)
    async with _running.setdefault(chat, asyncio.Lock()):
        memory = server.resources.services.memory
        for cycle in await memory.conversation(user, chat, limit=RECENT):
            if cycle.message.id == came.id:
                return reply_text(cycle)
        context = check(Context(user_id=user, channel=name))
        try:
            parts = [part async for part in server.turns.say(context, chat, came.message, id=came.id)]
        except StorageFailed as failure:
            if failure.code != "turn_kept":
                raise
            return failure.text(language)  # a gateway that sends it again would say it twice
    said = [part["content"] for part in parts if part["modal"] == "text" and not part.get("delta")]
    return "\n\n".join(said)


def chat_of(secret: SecretStr, user: str, channel: str, sender: str) -> str:
    """The chat in which this sender talks as this user.

    Keyed with the channel's secret: an id that others could tell beforehand could be taken by them first.
    """
    named = "\x1f".join((user, channel, sender)).encode()
    keyed = hmac.new(secret.get_secret_value().encode(), named, hashlib.sha256)
    return f"{channel}-{keyed.hexdigest()[:32]}"
