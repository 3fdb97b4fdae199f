"""The memory as tools for any chat model that calls tools: search, save, update, delete."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import ConfigDict, Field, ValidationError, create_model
from pydantic.v1 import ValidationError as ValidationErrorV1

from thoughtcycle.integrations.caller import Setup, messages_of, state_value
from thoughtcycle.integrations.loop_bridge import MemoryCall, MemoryHandle, run_async, run_blocking
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
from thoughtcycle.nodes.base.context import ContextSource, adapt
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.redaction import MARK
from thoughtcycle.prompts.loader import Language

Runtime: TypeAlias = ToolRuntime[Any, Any]
ToolOutput: TypeAlias = tuple[str, dict[str, Any]]
"""The text for the model, and the artifact for the thread: ids shown, whether memories changed."""


def memory_tools(
    memory: MemoryHandle,
    *,
    context: ContextSource = adapt,
    single_user: str | None = None,
    language: Language = "pt",
    limits: Limits | None = None,
) -> list[BaseTool]:
    """search_memory, save_memory, update_memory and delete_memory, for a `ToolNode` or an agent.

        tools = memory_tools(memory)
        graph.add_node("tools", ToolNode(tools)); model = model.bind_tools(tools)

    The user comes from the run (`context=`, or a server's authenticated user) and is no argument of any
    tool. Only memories that a tool has shown in this conversation can be changed or deleted. Deleted ones
    are hidden, and `memory.undo` brings them back. An error is one line for the model; a run without a user
    fails with NotAllowed. `language` is the language of the texts for the model.
    """
    setup = Setup(context, single_user, language, limits=limits or Limits())
    service = ToolService(setup.language, setup.limits)
    factory = _ToolFactory(memory, setup, service)
    return [
        factory.tool("search", service.search, query=Query),
        factory.tool("save", service.save, content=str, topics=Topics),
        factory.tool("update", service.update, id=Id, content=str),
        factory.tool("delete", service.delete, ids=Ids),
    ]


class _ToolFactory:
    """Builds LangChain tools from the service's methods, with the run injected."""

    def __init__(self, memory: MemoryHandle, setup: Setup, service: ToolService) -> None:
        self._memory, self._setup, self._service = memory, setup, service

    def tool(self, name: str, act: ToolMethod, **arguments: Any) -> BaseTool:
        """`act` as a tool whose arguments, but for the injected run, are these."""
        texts = self._service.texts
        fields: dict[str, Any] = {
            each: (kind, Field(description=texts[f"{name}.{each}"])) for each, kind in arguments.items()
        }

        def call(runtime: Runtime, **given: Any) -> ToolOutput:
            return run_blocking(self._memory, self._answering(act, runtime, given))

        async def acall(runtime: Runtime, **given: Any) -> ToolOutput:
            return await run_async(self._memory, self._answering(act, runtime, given))

        return StructuredTool.from_function(
            func=call,
            coroutine=acall,
            name=f"{name}_memory",
            description=texts[f"{name}.about"],
            args_schema=create_model(f"{name}_memory", __config__=ConfigDict(extra="ignore"), **fields),
            response_format="content_and_artifact",
            handle_tool_error=True,
            handle_validation_error=self._refused,
        )

    def _answering(
        self, act: ToolMethod, runtime: Runtime, given: Mapping[str, Any]
    ) -> MemoryCall[ToolOutput]:
        request = self._request(runtime)

        async def answer(memory: Memory) -> ToolOutput:
            try:
                found = await self._service.answer(act, memory, request, **given)
            except ToolRefused as refusal:
                raise ToolException(str(refusal)) from refusal
            return found.text, {MARK: {"shown": list(found.shown), "changed": found.changed}}

        return answer

    def _request(self, runtime: Runtime) -> ToolRequest:
        context = self._setup.caller(runtime, runtime.state)
        mark = state_value(runtime.state, MARK)
        messages = messages_of(runtime.state)
        fields = mark if isinstance(mark, Mapping) else {}
        humans = (each.text for each in reversed(messages) if isinstance(each, HumanMessage))
        return ToolRequest(
            context.user_id,
            shown=list(dict.fromkeys(id for note in _notes(messages) for id in note.get("shown", ()))),
            message=next(humans, ""),
            cycle=fields.get("cycle"),
            incognito=context.incognito,
            learned=bool(fields.get("cycle") and fields.get("learned")),
        )

    def _refused(self, error: ValidationError | ValidationErrorV1) -> str:
        problems = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        return self._service.texts.fill("arguments", problem="; ".join(problems))


def changed_memory(messages: Sequence[BaseMessage]) -> bool:
    """Whether a tool has changed memories since the user's last message."""
    places = [place for place, each in enumerate(messages) if isinstance(each, HumanMessage)]
    return any(note.get("changed") for note in _notes(messages[places[-1] :] if places else messages))


def _notes(messages: Iterable[BaseMessage]) -> Iterable[Mapping[str, Any]]:
    for message in messages:
        artifact = message.artifact if isinstance(message, ToolMessage) else None
        if isinstance(artifact, Mapping) and MARK in artifact:
            yield artifact[MARK]
