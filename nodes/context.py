"""What one run is told by its caller, adapted and checked once, at the edge."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from langgraph.runtime import ServerInfo
from pydantic import TypeAdapter, ValidationError

from thoughtcycle.prompts.errors import InputRefused, NotAllowed
from thoughtcycle.prompts.loader import LANGUAGES


@dataclass(frozen=True)
class Context:
    """Who is talking and how the run shall behave. JSON-plain: Studio makes a form of it."""

    user_id: str = ""
    """Whose memory this is. Where the server authenticates, its user counts and this is ignored."""
    channel: str = "chat"
    """Where the message came in."""
    language: str = "auto"
    """`pt`, `en`, or `auto`: as the user has set it, else that of the message."""
    time_zone: str | None = None
    """IANA name, e.g. America/Sao_Paulo, in which relative dates are read; None: as the user has set it."""
    persona: str = "Katherine"
    """The assistant's name."""
    smart_context: bool | None = None
    """Show summaries of other chats; None: the stored setting."""
    incognito: bool = False
    """Memory is read, nothing is written but the thread's own checkpoints."""
    disabled_actions: list[str] = field(default_factory=list)
    """Names of actions that the router must not see in this run."""
    max_steps: int | None = None
    """Decisions in this run, 1 to 50; None: the deployment's limit."""
    explain_actions: bool = True
    """Say in a short text what each memory action found or changed."""


ContextSource = Callable[[Any], Context]
"""Makes our context out of whatever `runtime.context` is in somebody else's graph."""

_NAMES = tuple(entry.name for entry in fields(Context))
_SCHEMA = TypeAdapter(Context)


def adapt(given: Any) -> Context:
    """`given` as a Context: None, ours, a mapping, or any object with attributes of the same names."""
    if isinstance(given, Context):
        return given
    if given is None:
        return Context()
    if isinstance(given, Mapping):
        found = {name: given[name] for name in _NAMES if name in given}
    else:
        found = {name: getattr(given, name) for name in _NAMES if hasattr(given, name)}
    return Context(**found)


def built(values: Mapping[str, Any]) -> Context:
    """The context of these values, what is None being left at its default.

    A client's form may send "true" or "3"; InputRefused (of the user: NotAllowed) at the first value of
    no use.
    """
    given = {name: value for name, value in values.items() if value is not None}
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
    if context.max_steps is not None and not 1 <= context.max_steps <= 50:
        raise InputRefused("bad_setting", name="max_steps", expected="1..50", value=context.max_steps)
    return context


def check_time_zone(name: str) -> ZoneInfo:
    """The zone of that IANA name; InputRefused when there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise InputRefused("unknown_time_zone", zone=name) from error


class RunInfo(Protocol):
    """What LangGraph tells of a run: its `Runtime`, and a tool's `ToolRuntime`."""

    @property
    def context(self) -> Any:
        """What the caller gave."""

    @property
    def server_info(self) -> ServerInfo | None:
        """Who is authenticated, on a server."""


def of_run(runtime: RunInfo, source: ContextSource, single_user: str | None) -> Context:
    """The checked context of a run.

    The server's authenticated user wins over any `user_id` that the client sent; without either, a
    single-user deployment gives its user; else NotAllowed.
    """
    context = source(runtime.context)
    server = runtime.server_info
    identity = server.user.identity if server and server.user else None
    user = identity or context.user_id or single_user or ""
    values = {name: getattr(context, name) for name in _NAMES} | {"user_id": user}
    return check(built(values))
