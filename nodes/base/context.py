"""The context of a run: given by its caller, validated before its first step."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Protocol

from langgraph.runtime import ServerInfo
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.model import check_time_zone
from thoughtcycle.mind.base import Explain
from thoughtcycle.prompts.loader import LANGUAGES

MAX_STEPS = 50
"""Decisions that any run may ask for."""


def _as_switch(value: object) -> object:
    """`value`, where it is a switch as "on" or "off"."""
    return {"true": "on", "false": "off"}.get(str(value).casefold(), value)


@dataclass(frozen=True)
class Context:
    """The user and the options of a run, plain JSON.

    Studio makes a form of the schema; `check` validates.
    """

    user_id: Annotated[
        str,
        Field(
            title="User",
            description="Whose memory this is; ignored where the server knows who is calling.",
            examples=["ana"],
            json_schema_extra={"maxLength": 200},
        ),
    ] = ""
    channel: Annotated[
        str, Field(title="Channel", description="Where the message came in.", examples=["chat", "web"])
    ] = "chat"
    language: Annotated[
        str,
        Field(
            title="Language",
            description="Of replies and statuses. auto: as the user has set it, else that of the message.",
            json_schema_extra={"enum": ["auto", *LANGUAGES]},
        ),
    ] = "auto"
    time_zone: Annotated[
        str | None,
        Field(
            title="Time zone",
            description="IANA name; relative dates are read in it. Empty: as the user has set it.",
            examples=["America/Sao_Paulo", "Europe/Lisbon"],
        ),
    ] = None
    persona: Annotated[str, Field(title="Persona", description="The assistant's name.")] = "Katherine"
    smart_context: Annotated[
        bool | None,
        Field(
            title="Smart context",
            description="Show the model summaries of the user's other chats. Empty: as the user has set it.",
        ),
    ] = None
    incognito: Annotated[
        bool,
        Field(
            title="Incognito",
            description="Memory is read, and nothing is written but the thread's own checkpoints.",
        ),
    ] = False
    disabled_actions: Annotated[
        list[str],
        Field(
            title="Disabled actions",
            description="Names of actions that are not to be chosen in this run.",
            examples=[["MemoryDelete"]],
            json_schema_extra={"default": []},
        ),
    ] = field(default_factory=list)
    max_steps: Annotated[
        int | None,
        Field(
            title="Most steps",
            description=f"Decisions in this run, 1 to {MAX_STEPS}. Empty: the deployment's limit.",
            json_schema_extra={"minimum": 1, "maximum": MAX_STEPS},
        ),
    ] = None
    explain_actions: Annotated[
        Explain | None,
        BeforeValidator(_as_switch),
        Field(
            title="Explain actions",
            description="What actions found or changed: auto: the reply says it; on: a short text after "
            "each; off: not said. Empty: as the deployment has set it.",
        ),
    ] = None


ContextSource = Callable[[Any], Context]
"""Makes our context of the `runtime.context` of another package's graph."""

_NAMES = tuple(entry.name for entry in fields(Context))
_SCHEMA = TypeAdapter(Context)


def adapt(given: Any) -> Context:
    """`given` as a Context: None, ours, a mapping, or any object with attributes of the same names."""
    if isinstance(given, Context):
        return given
    if given is None:
        return Context()
    if isinstance(given, Mapping):
        return Context(**{name: given[name] for name in _NAMES if name in given})
    return Context(**{name: getattr(given, name) for name in _NAMES if hasattr(given, name)})


def parse_context(values: Mapping[str, Any]) -> Context:
    """The context of these values, texts of a form too ("true", "3"); None and "" stand for the default.

    Raises InputRefused (for the user: NotAllowed) for the first unusable value.
    """
    given = {name: value for name, value in values.items() if value not in (None, "")}
    try:
        return _SCHEMA.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        if first["loc"][0] == "user_id":
            raise NotAllowed("no_user") from None
        raise InputRefused("bad_setting", name=first["loc"][0], expected=first["msg"]) from None


def check(context: Context) -> Context:
    """The same context; raises InputRefused or NotAllowed at the first value that cannot be used."""
    if not context.user_id.strip() or len(context.user_id) > 200:
        raise NotAllowed("no_user")
    if context.language not in ("auto", *LANGUAGES):
        raise InputRefused("unknown_language", language=context.language)
    if context.time_zone is not None:
        check_time_zone(context.time_zone)
    if context.max_steps is not None and not 1 <= context.max_steps <= MAX_STEPS:
        expected = f"1..{MAX_STEPS}"
        raise InputRefused("bad_setting", name="max_steps", expected=expected, value=context.max_steps)
    return context


class RunInfo(Protocol):
    """The part of LangGraph's `Runtime` and of a tool's `ToolRuntime` that names the caller."""

    @property
    def context(self) -> Any:
        """The context that the caller gave."""

    @property
    def server_info(self) -> ServerInfo | None:
        """The authenticated user, on a server."""


def context_of_run(
    runtime: RunInfo, source: ContextSource, single_user: str | None, *, public: bool = False
) -> Context:
    """The checked context of a run.

    The server's authenticated user overrides the `user_id` that the client sent; without either, the user is
    that of a single-user deployment; else it raises NotAllowed. A `public` server, which authenticates its
    callers, never takes the client's `user_id`.
    """
    context = source(runtime.context)
    server = runtime.server_info
    identity = server.user.identity if server and server.user else None
    claimed = "" if public and server else context.user_id or single_user or ""
    values = {name: getattr(context, name) for name in _NAMES} | {"user_id": identity or claimed}
    return check(parse_context(values))
