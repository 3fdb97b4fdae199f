"""`thoughtcycle settings`: a user's own settings, valid on every channel."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from thoughtcycle.cli.options import TEXTS, Db, Json, User, one_line, print_json, reports_failures
from thoughtcycle.cli.resources import with_memory
from thoughtcycle.errors import InputRefused

if TYPE_CHECKING:
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.memory.model import UserSettings

app = typer.Typer(help=TEXTS["help.settings"])

SWITCHES = ("smart_context", "paused")
NAMES = (*SWITCHES, "language", "time_zone")
DEFAULTS = ("default", "padrão", "padrao")
"""Values that take back what was set."""


class _SharedOptions(NamedTuple):
    """Options in front of the subcommand."""

    user: str | None
    db: str | None
    as_json: bool


@app.callback(invoke_without_command=True, help=TEXTS["help.settings"])
@reports_failures
def show(context: typer.Context, user: User = None, db: Db = None, as_json: Json = False) -> None:
    context.obj = _SharedOptions(user, db, as_json)
    if context.invoked_subcommand is None:

        async def work(memory: "Memory", who: str) -> "UserSettings":
            return await memory.settings(who)

        _print(with_memory(db, user, work, embeddings=False), as_json)


@app.command("set", help=TEXTS["help.settings_set"])
@reports_failures
def set_(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help=TEXTS["argument.setting"])] = "",
    value: Annotated[str, typer.Argument(metavar="VALUE", help=TEXTS["argument.value"])] = "",
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    given: _SharedOptions = context.obj
    changed = {name: _value(name, value.strip())}

    async def work(memory: "Memory", who: str) -> "UserSettings":
        return await memory.change_settings(who, **changed)

    kept = with_memory(db or given.db, user or given.user, work, embeddings=False)
    _print(kept, as_json or given.as_json)


def _value(name: str, value: str) -> Any:
    """Parses the value of a setting; InputRefused for a wrong one."""
    from thoughtcycle.nodes.commands.parse import switch_in

    if name not in NAMES:
        raise InputRefused("preference_unknown", name=repr(name), names=", ".join(NAMES))
    if not value:
        raise InputRefused("preference_missing", name=name)
    if value.casefold() in DEFAULTS:
        return False if name == "paused" else None
    if name not in SWITCHES:
        return value.casefold() if name == "language" else value
    if (found := switch_in(value)) is None:
        raise InputRefused("preference_value", name=name, value=repr(value))
    return found


def _print(known: "UserSettings", as_json: bool) -> None:
    values = {name: getattr(known, name) for name in NAMES}
    if as_json:
        print_json({"user": known.user, **values})
        return
    for name, value in values.items():
        shown = TEXTS[f"settings.{'on' if value else 'off'}"] if isinstance(value, bool) else value
        shown = one_line(shown) if shown is not None else TEXTS[f"settings.{name}"]
        typer.echo(f"{name:<14} {shown}")
