"""Memory as middleware for `create_agent`: briefs the model and stores the cycle."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.channels import UntrackedValue
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from thoughtcycle.errors import ThoughtcycleError
from thoughtcycle.integrations.agent_turn import AgentTurn, brief_turn, close_cycle, store_message
from thoughtcycle.integrations.caller import Setup
from thoughtcycle.integrations.loop_bridge import MemoryCall, MemoryHandle, run_async, run_blocking
from thoughtcycle.integrations.tools import changed_memory, memory_tools
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CycleMessage, new_id, utc_now
from thoughtcycle.nodes.base.context import Context, ContextSource, adapt
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.thread import announce_turn, running_thread
from thoughtcycle.prompts.loader import Language

log = logging.getLogger(__name__)

Request = ModelRequest[Any]
Update = dict[str, Any]


class ThreadMark(TypedDict):
    """The memory's private state in the agent's thread; no caller's input can set it."""

    user_id: str
    """The owner of the thread: nobody else may continue it."""
    at: str
    """When its last turn began, ISO 8601."""
    chat: str
    cycle: str | None
    """The cycle of the running turn, else of the last one; None where none could be kept."""
    message: str | None
    """Id of the user's message of that turn."""
    shown: list[str]
    """Ids of the memories in the briefing."""
    learned: bool
    """Whether memories may be formed from the turn."""


class MemoryState(AgentState[Any]):
    """The agent's state with what this middleware needs from step to step."""

    thoughtcycle: NotRequired[Annotated[ThreadMark, PrivateStateAttr]]
    thoughtcycle_briefing: NotRequired[Annotated[str, UntrackedValue(str), PrivateStateAttr]]
    """Never saved: content that is deleted later must not stay in a checkpoint."""


class ThoughtCycleMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Long-term memory for `langchain.agents.create_agent`.

        agent = create_agent(model, middleware=[ThoughtCycleMiddleware(memory)], context_schema=Context)
        await agent.ainvoke({"messages": [("user", text)]}, config, context=Context(user_id="ana"))

    Before the model is called, a briefing is appended to the system message of the request; the agent's own
    messages stay as they are. The user's message is stored before it is answered, the final reply after it,
    as one cycle of the chat that the thread's id names, each message id once; a worker forms memories from
    it. Works with `ainvoke` and, with a memory opened by `in_background`, with `invoke`.

    Runs without a user fail with NotAllowed('no_user'), threads of another user with
    NotAllowed('chat_of_another'). While the memory is unavailable the agent still answers; it is logged.
    """

    state_schema = MemoryState

    def __init__(
        self,
        memory: MemoryHandle,
        *,
        context: ContextSource = adapt,
        single_user: str | None = None,
        tools: Sequence[BaseTool] | None = None,
        language: Language = "pt",
        time_zone: str = "UTC",
        limits: Limits | None = None,
    ) -> None:
        """`context` converts the app's `context=` to our Context.

        `single_user`: the user of runs that name none. `tools` of the memory for the model; None: all four,
        (): none. `language` and `time_zone` are defaults where run, user and message show no other. Raises
        InputRefused for an unknown zone.
        """
        super().__init__()
        self._memory = memory
        self._setup = Setup(context, single_user, language, time_zone, limits or Limits())
        if tools is None:
            tools = memory_tools(
                memory, context=context, single_user=single_user, language=language, limits=limits
            )
        self.tools = list(tools)

    def before_agent(self, state: MemoryState, runtime: Runtime[Any]) -> Update:
        """Stores the user's message and builds the briefing."""
        return run_blocking(self._memory, self._begin(state, runtime))

    async def abefore_agent(self, state: MemoryState, runtime: Runtime[Any]) -> Update:
        """Stores the user's message and builds the briefing."""
        return await run_async(self._memory, self._begin(state, runtime))

    def wrap_model_call(
        self, request: Request, handler: Callable[[Request], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Asks the model with the briefing in its system message."""
        return handler(with_briefing(request, run_blocking(self._memory, self._brief(request))))

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Asks the model with the briefing in its system message."""
        return await handler(with_briefing(request, await run_async(self._memory, self._brief(request))))

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> None:
        """Stores the reply."""
        run_blocking(self._memory, self._end(state, runtime))

    async def aafter_agent(self, state: MemoryState, runtime: Runtime[Any]) -> None:
        """Stores the reply."""
        await run_async(self._memory, self._end(state, runtime))

    def _begin(self, state: MemoryState, runtime: Runtime[Any]) -> MemoryCall[Update]:
        context, mark = self._setup.caller(runtime, state), state.get("thoughtcycle")
        at = utc_now()
        announce_turn(context.user_id, at)
        turn = self._turn(context, running_thread().chat or f"run-{new_id()}", state)
        goes_on = mark is not None and not isinstance(state["messages"][-1], HumanMessage)
        parent = mark["cycle"] if mark and turn.message_id != mark["message"] else None

        async def begin(memory: Memory) -> Update:
            cycle = mark["cycle"] if mark and goes_on else await store_message(memory, turn, parent)
            brief = await brief_turn(memory, turn, counted=not goes_on)
            started = ThreadMark(
                user_id=context.user_id,
                at=at.isoformat(),
                chat=turn.chat,
                cycle=cycle,
                message=turn.message_id,
                shown=[*brief.shown],
                learned=not brief.paused,
            )
            return {"thoughtcycle": started, "thoughtcycle_briefing": brief.text}

        return begin

    def _brief(self, request: Request) -> MemoryCall[str]:
        """The briefing of the turn; built again if it is missing or the model has changed memories since."""
        state = cast(MemoryState, request.state)
        context, text = self._setup.caller(request.runtime, state), state.get("thoughtcycle_briefing")
        mark = state.get("thoughtcycle")

        async def brief(memory: Memory) -> str:
            if text is not None and not changed_memory(state["messages"]):
                return text
            assert mark is not None  # a turn begins before its first call of a model
            turn = self._turn(context, mark["chat"], state)
            return (await brief_turn(memory, turn, counted=False)).text

        return brief

    def _end(self, state: MemoryState, runtime: Runtime[Any]) -> MemoryCall[None]:
        context, mark = self._setup.caller(runtime, state), state.get("thoughtcycle")
        reply = final_reply(state["messages"])

        async def end(memory: Memory) -> None:
            if mark is None or mark["cycle"] is None:
                return
            try:
                await close_cycle(
                    memory,
                    context.user_id,
                    mark["cycle"],
                    [reply] if reply else [],
                    learned=mark["learned"],
                    shown=tuple(mark["shown"]),
                )
            except ThoughtcycleError as failure:
                log.warning("the reply is not kept: %s", failure.code)

        return end

    def _turn(self, context: Context, chat: str, state: MemoryState) -> AgentTurn:
        mark = state.get("thoughtcycle")
        said = new_user_messages(state["messages"], mark["message"] if mark else None)
        ids = [each.id for each in state["messages"] if isinstance(each, HumanMessage) and each.id]
        last = said[-1].id if said else None
        return AgentTurn(
            context=context,
            chat=chat,
            text="\n\n".join(each.text for each in said),
            message_id=last or "",
            seen=[id for id in ids if id != last],
            setup=self._setup,
        )


def with_briefing(request: Request, briefing: str) -> Request:
    """`request` with the briefing appended to its system message."""
    if not briefing:
        return request
    system = request.system_message
    if system is None:
        return request.override(system_message=SystemMessage(briefing))
    content: Any = system.content
    if isinstance(content, str):
        content = f"{content}\n\n{briefing}"
    else:
        content = [*content, {"type": "text", "text": briefing}]
    return request.override(system_message=system.model_copy(update={"content": content}))


def new_user_messages(messages: Sequence[BaseMessage], before: str | None) -> list[HumanMessage]:
    """The user's last consecutive messages, without those of earlier turns.

    `before`: id of the last message of the earlier turn; if that is the newest, the turn runs again.
    """
    found: list[HumanMessage] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and not (found and message.id == before):
            found.insert(0, message)
        elif found:
            break
    return found


def final_reply(messages: Sequence[BaseMessage]) -> CycleMessage | None:
    """The agent's last reply to the user's message; None without words."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, AIMessage) and not message.tool_calls and message.text.strip():
            return CycleMessage(id=message.id or new_id(), role="assistant", text=message.text, at=utc_now())
    return None
