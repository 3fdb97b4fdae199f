"""The memory as tools for any chat model that calls tools: search, save, update, delete."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model
from pydantic.v1 import ValidationError as ValidationErrorV1

from thoughtcycle.integrations.caller import MARK, Setup, messages_of, state_value
from thoughtcycle.integrations.reaching import Given, Work, reach, wait_for
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import MemoryDraft, MemoryRecord, Source
from thoughtcycle.nodes.actions.memory_save import Binding, said, usable
from thoughtcycle.nodes.context import Context, ContextSource, adapt
from thoughtcycle.nodes.limits import Limits
from thoughtcycle.nodes.run import found
from thoughtcycle.prompts.errors import StorageFailed, ThoughtcycleError
from thoughtcycle.prompts.loader import Language, texts

SHORT, LONGEST = 8, 400
"""Characters of an id, and of a memory, that a model is shown."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=SHORT, max_length=200)]
Topics = Annotated[list[Binding], Field(default_factory=list, max_length=12)]
Runtime: TypeAlias = ToolRuntime[Any, Any]
Answer: TypeAlias = tuple[str, dict[str, Any]]
"""What the model reads, and what only the thread keeps: the ids shown, and whether memories changed."""


@dataclass(frozen=True)
class Call:
    """One call of a tool: by whom, and in which conversation."""

    context: Context
    messages: Sequence[BaseMessage]
    cycle: str | None
    """The running cycle, where the middleware keeps one."""

    @property
    def user(self) -> str:
        """Whose memory it is."""
        return self.context.user_id

    @property
    def message(self) -> str:
        """The user's last message."""
        humans = (each.text for each in reversed(self.messages) if isinstance(each, HumanMessage))
        return next(humans, "")


Act: TypeAlias = Callable[..., Awaitable[Answer]]


def memory_tools(
    memory: Given,
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
    tool. Only memories that a tool has shown in this conversation can be changed or deleted. What is deleted
    is hidden, and `memory.undo` brings it back. What goes wrong is one line for the model; a run without a
    user fails with NotAllowed. `language` is that of what the model reads.
    """
    desk = _Desk(memory, Setup(context, single_user, language, limits=limits or Limits()))
    return [
        desk.tool("search", desk.search, query=Annotated[Text, Field(max_length=2_000)]),
        desk.tool("save", desk.save, content=str, topics=Topics),
        desk.tool("update", desk.update, id=Id, content=str),
        desk.tool("delete", desk.delete, ids=Annotated[list[Id], Field(min_length=1, max_length=40)]),
    ]


class _Desk:
    """What the four tools do."""

    def __init__(self, memory: Given, setup: Setup) -> None:
        self._memory, self._setup = memory, setup
        self._texts = texts(setup.language, "tools")

    def tool(self, name: str, act: Act, **arguments: Any) -> BaseTool:
        """`act` as a tool whose arguments, but for the injected run, are these."""

        def call(runtime: Runtime, **given: Any) -> Answer:
            return wait_for(self._memory, self._answering(act, runtime, given))

        async def acall(runtime: Runtime, **given: Any) -> Answer:
            return await reach(self._memory, self._answering(act, runtime, given))

        return StructuredTool.from_function(
            func=call,
            coroutine=acall,
            name=f"{name}_memory",
            description=self._texts[f"{name}.about"],
            args_schema=self._schema(name, arguments),
            response_format="content_and_artifact",
            handle_tool_error=True,
            handle_validation_error=self._refused,
        )

    async def search(self, memory: Memory, call: Call, *, query: str) -> Answer:
        """The memories that speak of `query`, by words alone without the embedding model."""
        if memory.unreadable:
            raise StorageFailed("memory_away")
        counted = not call.context.incognito
        hits = await found(memory, call.user, query, self._setup.limits.search_hits, counted=counted)
        if not hits and memory.waiting:  # it may be among what waits
            raise StorageFailed("memory_away")
        records = [hit.record for hit in hits]
        if not records:
            return self._texts["search.nothing"], noted(())
        lines = "\n".join(line(record) for record in records)
        return self._texts.fill("search.found", count=len(records), memories=lines), noted(records)

    async def save(self, memory: Memory, call: Call, *, content: str, topics: Sequence[str] = ()) -> Answer:
        """Keeps one fact."""
        text = self._written(call, content)
        source = Source(cycle=call.cycle, words=said(text, call.message, self._setup.language))
        draft = MemoryDraft(content=text, bindings=tuple(dict.fromkeys(topics)), source=source)
        (saved,) = await memory.save(call.user, [draft])
        if saved.outcome == "erased":
            return self._texts["save.deleted"], noted(())
        section = "save.known" if saved.outcome == "known" else "save.done"
        return self._texts.fill(section, id=saved.record.id[:SHORT]), noted([saved.record], changed=True)

    async def update(self, memory: Memory, call: Call, *, id: str, content: str) -> Answer:
        """Gives a memory that was shown new content."""
        text, shown = self._written(call, content), self._shown(call, [id])
        words = said(text, call.message, self._setup.language)
        record = await memory.update(call.user, shown[0], content=text, cycle=call.cycle, words=words)
        return self._texts.fill("update.done", id=record.id[:SHORT]), noted([record], changed=True)

    async def delete(self, memory: Memory, call: Call, *, ids: list[str]) -> Answer:
        """Hides memories that were shown."""
        gone = await memory.hide(call.user, self._shown(call, ids), cycle=call.cycle)
        return self._texts.fill("delete.done", count=len(gone)), noted((), changed=True)

    def _answering(self, act: Act, runtime: Runtime, given: Mapping[str, Any]) -> Work[Answer]:
        context = self._setup.caller(runtime, runtime.state)
        mark = state_value(runtime.state, MARK)
        cycle = mark.get("cycle") if isinstance(mark, Mapping) else None
        call = Call(context, messages_of(runtime.state), cycle)

        async def answer(memory: Memory) -> Answer:
            try:
                return await act(memory, call, **given)
            except ThoughtcycleError as failure:
                away = isinstance(failure, StorageFailed) and memory.lost(failure)
                known = StorageFailed("memory_away") if away else failure
                raise ToolException(known.text(self._setup.language)) from failure

        return answer

    def _schema(self, name: str, arguments: Mapping[str, Any]) -> type[BaseModel]:
        fields: dict[str, Any] = {
            each: (kind, Field(description=self._texts[f"{name}.{each}"])) for each, kind in arguments.items()
        }
        return create_model(f"{name}_memory", __config__=ConfigDict(extra="ignore"), **fields)

    def _written(self, call: Call, content: str) -> str:
        """`content` as it may be kept; ToolException otherwise."""
        if call.context.incognito:
            raise ToolException(self._texts["incognito"])
        most = self._setup.limits.content_chars
        if not usable(content, most):
            raise ToolException(self._texts.fill("empty", most=most))
        return content.strip()

    def _shown(self, call: Call, ids: Iterable[str]) -> list[str]:
        """The memories of these ids or beginnings, each shown in this conversation; else ToolException."""
        known = shown_in(call.messages)
        fitting = {id: [one for one in known if one.startswith(id)] for id in ids}
        for id, ones in fitting.items():
            if len(ones) != 1:
                raise ToolException(self._texts.fill("not_shown", id=repr(id)))
        return [ones[0] for ones in fitting.values()]

    def _refused(self, error: ValidationError | ValidationErrorV1) -> str:
        problems = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        return self._texts.fill("arguments", problem="; ".join(problems))


def line(record: MemoryRecord) -> str:
    """A memory as a model is shown it."""
    text = " ".join(record.text.split())
    about = ", ".join(filter(None, (record.kind, record.valid_from.date().isoformat())))
    return f"[{record.id[:SHORT]}] {text[:LONGEST]} ({about})"


def noted(records: Iterable[MemoryRecord], *, changed: bool = False) -> dict[str, Any]:
    """What the thread keeps of a call, out of the model's sight."""
    return {MARK: {"shown": [record.id for record in records], "changed": changed}}


def shown_in(messages: Iterable[BaseMessage]) -> list[str]:
    """Ids of the memories that tools have shown in this conversation."""
    ids = (id for note in _notes(messages) for id in note.get("shown", ()))
    return list(dict.fromkeys(ids))


def changed_memory(messages: Sequence[BaseMessage]) -> bool:
    """Whether a tool has changed memories since the user's last message."""
    places = [place for place, each in enumerate(messages) if isinstance(each, HumanMessage)]
    return any(note.get("changed") for note in _notes(messages[places[-1] :] if places else messages))


def _notes(messages: Iterable[BaseMessage]) -> Iterable[Mapping[str, Any]]:
    for message in messages:
        artifact = message.artifact if isinstance(message, ToolMessage) else None
        if isinstance(artifact, Mapping) and MARK in artifact:
            yield artifact[MARK]
