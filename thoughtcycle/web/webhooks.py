"""Webhook of messaging gateways: answers signed messages of linked senders (LM-13)."""

import asyncio
import hashlib
import hmac
import re
from typing import Annotated
from weakref import WeakValueDictionary

from fastapi import APIRouter, Path, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field, SecretStr

from thoughtcycle.errors import InputRefused, NotAuthenticated, TooMuch, TurnKept
from thoughtcycle.language.parse import detect_language
from thoughtcycle.memory.channels import ALPHABET, LENGTH, meant
from thoughtcycle.memory.rules.word_budget import reply_text
from thoughtcycle.nodes.base.context import Context, check
from thoughtcycle.prompts.loader import Language, texts
from thoughtcycle.web.auth.limits import address_key
from thoughtcycle.web.auth.middleware import AccessControl, Handler
from thoughtcycle.web.server.dependencies import MemoryDep, ServerDep, ServerState

BODY_BYTES = 262_144
RECENT = 20
"""Exchanges that are searched for a repeated message."""

TOLERANCE = 300
"""Seconds by which the clocks of gateway and server may differ, the way included."""
UNKNOWN_SECRET = b"\0" * 32
"""Stands in for the secret of an unknown channel, so that timing tells nothing."""

_TIME = re.compile(r"[0-9]{1,12}")
_LINK = re.compile(r"\s*/?(ligar|link)\s+(\S.{0,20})", re.IGNORECASE)


class SignedRoute(APIRoute):
    """A route for gateways: the body is read, up to its limit, and parsed only when it is signed."""

    def get_route_handler(self) -> Handler:
        """The handler behind the signature."""
        handler = super().get_route_handler()

        async def enter(request: Request) -> Response:
            await check_signature(request)
            return await handler(request)

        return enter


router = APIRouter(prefix="/channels", tags=["channels"], route_class=SignedRoute)


class Incoming(BaseModel):
    """A message that somebody sent on the channel."""

    sender: str = Field(min_length=1, max_length=200)
    """The sender's id on the channel, such as a phone number."""
    message: str = Field(min_length=1)
    id: str = Field(min_length=1, max_length=200)
    """The message's id: sent again, it is answered with the same reply."""


class Outgoing(BaseModel):
    """The response to the gateway."""

    linked: bool
    """Whether the sender is a user."""
    reply: str


async def check_signature(request: Request) -> None:
    """Raises NotAuthenticated('channel_signature') for a wrong channel, time or signature."""
    server: ServerState = request.app.state.server
    access: AccessControl = server.access
    known = server.settings.channels.get(request.path_params["name"])
    secret = known.secret.get_secret_value().encode() if known is not None else None
    stamp, signature = (request.headers.get(name, "") for name in ("x-timestamp", "x-signature"))
    if not verified(secret, stamp, signature, await request.body(), server.clock()):
        access.attempts.take(address_key(request.client.host if request.client else None))
        raise NotAuthenticated("channel_signature")


def sign(secret: bytes, timestamp: str, body: bytes) -> str:
    """The signature: `sha256=` and the hexadecimal HMAC of timestamp, a dot and the body."""
    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def verified(secret: bytes | None, timestamp: str, signature: str, body: bytes, now: float) -> bool:
    """Whether the body is signed with this secret, at a time (Unix seconds) not far from `now`."""
    if not _TIME.fullmatch(timestamp):
        return False
    expected = sign(UNKNOWN_SECRET if secret is None else secret, timestamp, body)
    right = hmac.compare_digest(expected.encode(), signature.encode())
    return right and secret is not None and abs(now - int(timestamp)) <= TOLERANCE


@router.post("/{name}/messages", max_body_size=BODY_BYTES)
async def receive(
    name: Annotated[str, Path(max_length=40)], came: Incoming, server: ServerDep, memory: MemoryDep
) -> Outgoing:
    """Answers a signed message. A stranger is told how to be linked, and nothing of theirs is kept."""
    user = await memory.linked_user(name, came.sender)
    server.access.requests.take(user or f"{name}\x1f{came.sender}")
    language = detect_language(came.message, server.resources.services.language)
    if (code := parse_link_code(came.message)) is not None:
        return await _link(server, name, came, code)
    if user is None:
        return Outgoing(linked=False, reply=texts(language, "channels")["stranger"])
    server.access.budget.check(user)
    return Outgoing(linked=True, reply=await _reply_once(server, user, name, came, language))


def parse_link_code(message: str) -> str | None:
    """The code of "ligar 7K3M-Q01D" or "link 7K3M-Q01D"; None for any other message."""
    found = _LINK.fullmatch(message.strip())
    code = meant(found[2]) if found else ""
    return code if len(code) == LENGTH and set(code) <= set(ALPHABET) else None


async def _link(server: ServerState, name: str, came: Incoming, code: str) -> Outgoing:
    language: Language = "pt" if came.message.strip(" /").casefold().startswith("ligar") else "en"
    memory = server.resources.services.memory
    try:
        await memory.link_channel(name, came.sender, code)
    except (InputRefused, TooMuch) as refused:
        linked = await memory.linked_user(name, came.sender) is not None
        return Outgoing(linked=linked, reply=refused.text(language))
    return Outgoing(linked=True, reply=texts(language, "channels")["linked"])


_chat_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


async def _reply_once(server: ServerState, user: str, name: str, came: Incoming, language: Language) -> str:
    """Runs a turn for the message, or returns the stored reply of a repeated one."""
    chat = channel_chat_id(server.settings.channels[name].secret, user, name, came.sender)
    async with _chat_locks.setdefault(chat, asyncio.Lock()):
        memory = server.resources.services.memory
        for cycle in await memory.conversation(user, chat, limit=RECENT):
            if cycle.message.id == came.id:
                return reply_text(cycle)
        context = check(Context(user_id=user, channel=name))
        try:
            parts = [part async for part in server.turns.say(context, chat, came.message, id=came.id)]
        except TurnKept as kept:
            return kept.text(language)  # a gateway that sends it again would say it twice
    said = [part["content"] for part in parts if part["modal"] == "text" and not part.get("delta")]
    return "\n\n".join(said)


def channel_chat_id(secret: SecretStr, user: str, channel: str, sender: str) -> str:
    """The id of the chat in which this sender talks as this user.

    Keyed with the channel's secret: an id that others could tell beforehand could be taken by them first.
    """
    named = "\x1f".join((user, channel, sender)).encode()
    keyed = hmac.new(secret.get_secret_value().encode(), named, hashlib.sha256)
    return f"{channel}-{keyed.hexdigest()[:32]}"
