"""The running server and what routes get of it: its state, the memory, the current user."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from fastapi import Depends, Path, Request

from thoughtcycle.memory.memory import Memory
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.runtime.resources import Resources, hold
from thoughtcycle.runtime.settings import Settings
from thoughtcycle.web.auth.callers import Caller
from thoughtcycle.web.auth.middleware import AccessControl
from thoughtcycle.web.server.turns import TurnQueues


@dataclass(frozen=True)
class ServerState:
    """One running server."""

    settings: Settings
    resources: Resources
    turns: TurnQueues
    access: AccessControl
    clock: Callable[[], float] = time.time
    """Unix seconds."""
    proving: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One proof of forgetting at a time: each reads the whole database twice."""


@asynccontextmanager
async def open_server(settings: Settings, models: ModelSettings | None) -> AsyncIterator[ServerState]:
    """Opens memory, mind, checkpointer and worker; on exit, running turns store their partial replies."""
    async with hold(settings, models) as resources:
        access = AccessControl.of(settings)
        turns = TurnQueues(resources, access.budget)
        await resources.services.mind.warm()
        try:
            yield ServerState(settings, resources, turns, access)
        finally:
            await turns.aclose()


async def server_state(request: Request) -> ServerState:
    """The state of the running server."""
    found: ServerState = request.app.state.server
    return found


ServerDep = Annotated[ServerState, Depends(server_state)]


async def memory_of(server: ServerDep) -> Memory:
    """The memory; every call names the owner."""
    return server.resources.services.memory


MemoryDep = Annotated[Memory, Depends(memory_of)]


async def current_user(request: Request) -> str:
    """The authenticated user of the request."""
    caller: Caller = request.state.caller
    return caller.user


CurrentUser = Annotated[str, Depends(current_user)]


async def user_with_tokens(user: CurrentUser, server: ServerDep) -> str:
    """The user, with tokens left for a turn; TooMuch('tokens_spent') without."""
    server.access.budget.check(user)
    return user


UserWithTokens = Annotated[str, Depends(user_with_tokens)]

ChatId = Annotated[str, Path(min_length=1, max_length=200, description="The chat's id.")]


async def check_chat_owner(memory: Memory, user: str, chat: str) -> None:
    """Raises NotAllowed for another user's chat; a chat that does not exist yet is nobody's."""
    checking = partial(memory.transcript.check_chat, user, chat)
    await memory.availability.read(checking, None)  # the turn asks again when it stores the message


async def chat_of_user(chat: ChatId, user: CurrentUser, memory: MemoryDep) -> str:
    """The id of a chat that is not another user's."""
    await check_chat_owner(memory, user, chat)
    return chat


OwnChatId = Annotated[str, Depends(chat_of_user)]
