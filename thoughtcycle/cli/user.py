"""`thoughtcycle profile`: a user's habits and moods; `settings`: their own settings, for every channel."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thoughtcycle.cli.call import Call, CommandGroup, with_common_options
from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.options import TEXTS, one_line, print_json, ui_language
from thoughtcycle.errors import InputRefused

if TYPE_CHECKING:
    from thoughtcycle.memory.model import Profile, UserSettings

app = CommandGroup(help=TEXTS["help.settings"])

SWITCHES = ("smart_context", "paused")
NAMES = (*SWITCHES, "language", "time_zone")
DEFAULTS = ("default", "padrão", "padrao")
"""Values that take back what was set."""


def profile(call: Call) -> None:
    known = call.with_memory(lambda memory, user: memory.profile(user))
    if call.as_json:
        plain = known.model_dump(mode="json", exclude={"revision"})
        moods = [{"cycle": cycle} | mood.model_dump(mode="json") for cycle, mood in known.moods]
        print_json(plain | {"moods": moods})
        return
    if known.entries or known.moods:
        _print_profile(known)
    else:
        typer.echo(TEXTS["profile.none"])


def _print_profile(known: "Profile") -> None:
    from thoughtcycle.memory.text.labels import label_of
    from thoughtcycle.prompts.forms import number

    language = ui_language()
    rows = [
        (
            one_line(label_of("habit", one.key, language)),
            one_line(label_of("habit", one.value, language)),
            number(one.confidence, language, 2),
            str(one.observations),
            f"{one.updated:%Y-%m-%d}",
        )
        for one in sorted(known.entries, key=lambda one: -one.confidence)
    ]
    if rows:
        print_table(TEXTS["profile.columns"], rows)
    felt = [
        (
            label_of("mood", mood.name, language),
            one_line(mood.topic) or "–",
            number(mood.intensity, language, 2),
            f"{mood.at:%Y-%m-%d}" if mood.at else "–",
        )
        for _, mood in reversed(known.moods)
    ]
    if rows and felt:
        typer.echo()
    if felt:
        print_table(TEXTS["profile.mood_columns"], felt)


@app.callback(invoke_without_command=True, help=TEXTS["help.settings"])
@with_common_options
def show(context: typer.Context, call: Call) -> None:
    context.obj = call
    if context.invoked_subcommand is None:
        _print_settings(call.with_memory(lambda memory, user: memory.settings(user)), call)


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
    _print_settings(call.with_memory(lambda memory, user: memory.change_settings(user, **changed)), call)


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


def _print_settings(settings: "UserSettings", call: Call) -> None:
    values = {name: getattr(settings, name) for name in NAMES}
    if call.as_json:
        print_json({"user": settings.user, **values})
        return
    for name, value in values.items():
        shown = TEXTS[f"settings.{'on' if value else 'off'}"] if isinstance(value, bool) else value
        shown = one_line(shown) if shown is not None else TEXTS[f"settings.{name}"]
        typer.echo(f"{name:<14} {shown}")
