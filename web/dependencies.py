"""What a route may ask for: the running server, the memory, and whose request this is."""

from typing import Annotated

from fastapi import Depends, Path, Request

from thoughtcycle.memory.memory import Memory
from thoughtcycle.prompts.errors import StorageFailed
from thoughtcycle.web.auth import Caller
from thoughtcycle.web.serving import Serving


async def serving(request: Request) -> Serving:
    """The server that answers."""
    found: Serving = request.app.state.serving
    return found


Server = Annotated[Serving, Depends(serving)]


async def engine(server: Server) -> Memory:
    """The memory of all users: every call names the owner."""
    return server.resources.services.memory


Engine = Annotated[Memory, Depends(engine)]


async def owner(request: Request) -> str:
    """The user whose request this is, as the gate found out."""
    caller: Caller = request.state.caller
    return caller.user


Owner = Annotated[str, Depends(owner)]


async def talker(user: Owner, server: Server) -> str:
    """The user, who has tokens left for a turn; TooMuch('tokens_spent') without."""
    server.gate.budget.check(user)
    return user


Talker = Annotated[str, Depends(talker)]

ChatId = Annotated[str, Path(min_length=1, max_length=200, description="The chat's id.")]


async def check_own(memory: Memory, user: str, chat: str) -> None:
    """NotAllowed when the chat is another user's. One that does not exist yet is nobody's."""
    try:
        if not memory.unreadable:
            await memory.check_chat(user, chat)
    except StorageFailed as failure:  # the turn asks again when it stores the message
        if not memory.lost(failure):
            raise


async def own_chat(chat: ChatId, user: Owner, memory: Engine) -> str:
    """The id of a chat that is not another user's."""
    await check_own(memory, user, chat)
    return chat


Chat = Annotated[str, Depends(own_chat)]
