"""Dependencies of routes: the running server, the memory, the current user."""

from functools import partial
from typing import Annotated

from fastapi import Depends, Path, Request

from thoughtcycle.memory.memory import Memory
from thoughtcycle.web.auth.callers import Caller
from thoughtcycle.web.server.state import ServerState


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
