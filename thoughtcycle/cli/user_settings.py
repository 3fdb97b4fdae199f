"""`thoughtcycle settings`: a user's own settings, valid on every channel."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thoughtcycle.cli.call import Call, CommandGroup, with_common_options
from thoughtcycle.cli.options import TEXTS, one_line, print_json
from thoughtcycle.errors import InputRefused

if TYPE_CHECKING:
    from thoughtcycle.memory.model import UserSettings

app = CommandGroup(help=TEXTS["help.settings"])

SWITCHES = ("smart_context", "paused")
NAMES = (*SWITCHES, "language", "time_zone")
DEFAULTS = ("default", "padrão", "padrao")
"""Values that take back what was set."""


@app.callback(invoke_without_command=True, help=TEXTS["help.settings"])
@with_common_options
def show(context: typer.Context, call: Call) -> None:
    context.obj = call
    if context.invoked_subcommand is None:
        _print(call.with_memory(lambda memory, user: memory.settings(user)), call.as_json)


@app.command("set", help=TEXTS["help.settings_set"])
def set_(
    context: typer.Context,
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help=TEXTS["argument.setting"])] = "",
    value: Annotated[str, typer.Argument(metavar="VALUE", help=TEXTS["argument.value"])] = "",
) -> None:
    group: Call = context.obj  # options in front of the subcommand
    changed = {name: _value(name, value.strip())}
    call = Call(call.user or group.user, call.db or group.db, call.as_json or group.as_json)
    _print(call.with_memory(lambda memory, user: memory.change_settings(user, **changed)), call.as_json)


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


def _print(settings: "UserSettings", as_json: bool) -> None:
    values = {name: getattr(settings, name) for name in NAMES}
    if as_json:
        print_json({"user": settings.user, **values})
        return
    for name, value in values.items():
        shown = TEXTS[f"settings.{'on' if value else 'off'}"] if isinstance(value, bool) else value
        shown = one_line(shown) if shown is not None else TEXTS[f"settings.{name}"]
        typer.echo(f"{name:<14} {shown}")
