"""The user's links to messaging channels: a code to make one, the list, and the end of one."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.channels import CODE_LIFE
from thoughtcycle.memory.model import ChannelLink
from thoughtcycle.web.api.routing import api
from thoughtcycle.web.server.dependencies import CurrentUser, MemoryDep

router = api("/api/channels", "channels")


class LinkCode(BaseModel):
    """The code that the user sends from the channel, as "link CODE"."""

    code: str
    seconds: int
    """For so long it holds."""


class Unlinked(BaseModel):
    """A link that is no more."""

    unlinked: bool = True


@router.get("")
async def links(user: CurrentUser, memory: MemoryDep) -> list[ChannelLink]:
    """The senders who are this user."""
    return await memory.channel_links(user)


@router.post("/code")
async def code(user: CurrentUser, memory: MemoryDep) -> LinkCode:
    """A new code; an earlier one ends."""
    return LinkCode(code=await memory.link_code(user), seconds=int(CODE_LIFE.total_seconds()))


@router.delete("")
async def unlink(
    user: CurrentUser,
    memory: MemoryDep,
    channel: Annotated[str, Query(max_length=40)],
    sender: Annotated[str, Query(max_length=200)],
) -> Unlinked:
    """Ends a link."""
    if not await memory.unlink_channel(user, channel, sender):
        raise NotAllowed("link_unknown", channel=repr(channel), sender=repr(sender))
    return Unlinked()
