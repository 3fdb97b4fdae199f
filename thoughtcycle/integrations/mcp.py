"""The memory for MCP clients: one user's, named by whoever starts the server."""

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field, StringConstraints, ValidationError

from thoughtcycle.errors import FieldRefused, ThoughtcycleError
from thoughtcycle.integrations.agent_turn import AgentTurn, brief_turn
from thoughtcycle.integrations.caller import Setup
from thoughtcycle.integrations.tool_service import (
    Id,
    Ids,
    Query,
    ToolMethod,
    ToolRefused,
    ToolRequest,
    ToolService,
    Topics,
)
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import new_id
from thoughtcycle.nodes.base.context import Context, check
from thoughtcycle.prompts.loader import Language, texts

Message = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
_DELETES = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


class Session:
    """The session of one client with one user's memory; only memories shown in it can be changed."""

    def __init__(self, memory: Memory, context: Context, setup: Setup) -> None:
        self._memory, self._context, self._setup = memory, context, setup
        self._chat = new_id()
        """A fresh id: the server sees the client's requests only, and no chat."""
        self._shown: dict[str, None] = {}
        self.language: Language = setup.language
        self.service = ToolService(setup.language, setup.limits)

    async def call(self, act: ToolMethod, **given: Any) -> str:
        """Calls a tool; raises ToolError."""
        request = ToolRequest(self._context.user_id, tuple(self._shown), incognito=self._context.incognito)
        try:
            answer = await self.service.answer(act, self._memory, request, **given)
        except ToolRefused as refusal:
            raise ToolError(str(refusal)) from refusal
        self._shown |= dict.fromkeys(answer.shown)
        return answer.text

    async def briefing(self, message: str) -> str:
        """The briefing for a message; raises ToolError."""
        turn = AgentTurn(self._context, self._chat, message, new_id(), (), self._setup)
        try:
            found = await brief_turn(self._memory, turn, counted=True)
        except ThoughtcycleError as failure:
            raise ToolError(failure.text(self.language)) from failure
        return found.text or self.service.texts["search.nothing"]


class _Server(MCPServer[Any]):
    """Reports errors of a call in one line, without the internals and links of the SDK's messages."""

    def __init__(self, *given: Any, language: Language, **options: Any) -> None:
        super().__init__(*given, **options)
        self._language: Language = language

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        known = [tool.name for tool in await self.list_tools()]
        if name not in known:
            own = texts(self._language, "mcp")
            raise ToolError(own.fill("unknown", name=repr(name[:60]), tools=", ".join(known)))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                first = cause.errors(include_url=False, include_input=False)[0]
                raise ToolError(FieldRefused(first).text(self._language)) from cause
            if type(cause) is ToolError:  # a tool's own message, without the SDK's prefix
                raise ToolError(str(cause)) from cause
            raise


def create_server(memory: Memory, context: Context, setup: Setup | None = None) -> MCPServer[Any]:
    """A server for one session, with memory_search, memory_save, memory_update, memory_delete and briefing.

    The user is `context`'s and no argument of any tool. Only memories that a tool has shown in this session
    can be changed or deleted; deleted ones are hidden and can be brought back for a while. An error is one
    line for the model. Raises NotAllowed without a user.
    """
    session = Session(memory, check(context), setup or Setup())
    service, own = session.service, texts(session.language, "mcp")
    shared = service.texts

    async def search(query: Annotated[Query, Field(description=shared["search.query"])]) -> str:
        return await session.call(service.search, query=query)

    async def save(
        content: Annotated[str, Field(description=shared["save.content"])],
        topics: Annotated[Topics, Field(description=shared["save.topics"])],
    ) -> str:
        return await session.call(service.save, content=content, topics=topics)

    async def update(
        id: Annotated[Id, Field(description=shared["update.id"])],
        content: Annotated[str, Field(description=shared["update.content"])],
    ) -> str:
        return await session.call(service.update, id=id, content=content)

    async def delete(ids: Annotated[Ids, Field(description=shared["delete.ids"])]) -> str:
        return await session.call(service.delete, ids=ids)

    async def briefing(message: Annotated[Message, Field(description=own["briefing.message"])]) -> str:
        return await session.briefing(message)

    server = _Server(
        "thoughtcycle",
        language=session.language,
        instructions=own["instructions"],
        version=version("thoughtcycle"),
        log_level="WARNING",
        subscriptions=False,
    )
    tools: tuple[tuple[Callable[..., Awaitable[str]], str, str, ToolAnnotations], ...] = (
        (search, "memory_search", shared["search.about"], _READS),
        (save, "memory_save", shared["save.about"], _WRITES),
        (update, "memory_update", shared["update.about"], _WRITES),
        (delete, "memory_delete", shared["delete.about"], _DELETES),
        (briefing, "briefing", own["briefing.about"], _READS),
    )
    for does, name, about, hints in tools:
        server.add_tool(does, name=name, description=about, annotations=hints, structured_output=False)
    return server
