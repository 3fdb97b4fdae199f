"""The `thoughtcycle` command; each subcommand imports its parts when it runs."""

import io
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Annotated

import typer

from thoughtcycle.cli import (
    admin,
    attachments,
    channels,
    chats,
    jobs,
    memories,
    metrics,
    proof,
    servers,
    user,
)
from thoughtcycle.cli import briefing as briefings
from thoughtcycle.cli import eval as evaluations
from thoughtcycle.cli.call import Call, CommandGroup
from thoughtcycle.cli.options import TEXTS, Flag, check_language, check_names, ui_language
from thoughtcycle.cli.usage_errors import PlainGroup

app = CommandGroup(
    cls=PlainGroup,
    help=TEXTS["help"],
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
memories.app.command("attach", help=TEXTS["help.attach"])(attachments.attach)
memories.app.command("file", help=TEXTS["help.file"])(attachments.file)
app.add_typer(memories.app, name="memories")
app.add_typer(evaluations.app, name="eval")
app.add_typer(chats.app, name="chats")
app.add_typer(chats.conversations, name="conversations")
app.command("profile", help=TEXTS["help.profile"])(user.profile)
app.add_typer(user.app, name="settings")
app.command("garden", help=TEXTS["help.garden"])(jobs.garden)
app.command("metrics", help=TEXTS["help.metrics"])(metrics.metrics)
app.add_typer(admin.app)
app.add_typer(proof.app)
app.command("briefing", help=TEXTS["help.briefing"])(briefings.briefing)
app.command("mcp", help=TEXTS["help.mcp"])(servers.mcp)
app.command("worker", help=TEXTS["help.worker"])(jobs.worker)
app.add_typer(jobs.app, name="jobs")
app.add_typer(servers.keys, name="keys")
app.add_typer(channels.app, name="channels")
app.command("web", help=TEXTS["help.web"])(servers.web)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"thoughtcycle {version('thoughtcycle')}")
        raise typer.Exit


@app.callback(help=TEXTS["help"])
def options(
    show_version: Annotated[
        bool, Flag("--version", callback=_show_version, is_eager=True, help=TEXTS["option.version"])
    ] = False,
) -> None:
    """Options of the command as a whole."""


@app.command(help=TEXTS["help.chat"])
def chat(
    call: Call,
    name: Annotated[str | None, typer.Option("--chat", help=TEXTS["option.chat"])] = None,
    language: Annotated[str, typer.Option("--language", help=TEXTS["option.language"])] = "auto",
    time_zone: Annotated[str | None, typer.Option("--time-zone", help=TEXTS["option.time_zone"])] = None,
    model: Annotated[str | None, typer.Option("--model", help=TEXTS["option.model"])] = None,
    incognito: Annotated[bool, Flag("--incognito", help=TEXTS["option.incognito"])] = False,
) -> None:
    from thoughtcycle.cli.chat import run_chat
    from thoughtcycle.mind.model_settings import ModelSettings
    from thoughtcycle.nodes.base.context import Context, check

    settings = call.settings.model_copy(update={"language": ui_language()})
    models = ModelSettings(model=model) if model else ModelSettings()
    context = Context(
        user_id=call.owner,
        channel="cli",
        language=check_language(language),
        time_zone=time_zone,
        incognito=incognito,
    )
    run_chat(settings, models, check(context), name, as_json=call.as_json)


@app.command(help=TEXTS["help.actions"])
def actions(call: Call) -> None:
    from thoughtcycle.nodes.actions.registry import discover

    for name, action in discover(call.settings.disabled_actions).items():
        when = action.when(ui_language())
        values = {"name": name, "ends": action.ends, "writes": action.writes, "when": when}
        call.print(values, f"{name}{' *' if action.ends else ''}\n    {when}")


@app.command(help=TEXTS["help.graph"])
def graph(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help=TEXTS["argument.graph"])] = "thought_cycle",
) -> None:
    from thoughtcycle.runtime.drawing import NAMES, drawing

    check_names([name], NAMES, TEXTS["graph"])
    drawn = drawing(next(known for known in NAMES if known == name))
    call.print({"name": name, "mermaid": drawn}, drawn)


@app.command(help=TEXTS["help.config"])
def config(call: Call) -> None:
    from thoughtcycle.memory.storage import parse_url
    from thoughtcycle.mind.model_settings import ModelSettings
    from thoughtcycle.nodes.actions.registry import discover
    from thoughtcycle.nodes.base.context import Context, check

    settings = call.settings
    models = ModelSettings()
    check(Context(user_id=call.owner, time_zone=settings.time_zone))
    discover(settings.disabled_actions)
    shown = {
        "mind": "models" if models.configured else "rules",
        "language": ui_language(),
        "user": call.owner,
        "db": parse_url(settings.url()).shown,
        "time_zone": settings.time_zone,
        "disabled_actions": list(settings.disabled_actions),
        "limits": settings.limits.model_dump(),
        "models": models.masked() if models.configured else {},
    }
    call.print(shown, "\n".join(_lines(shown)))


def _lines(values: Mapping[str, object], indent: str = "") -> Iterator[str]:
    """Nested settings as indented lines."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(value, f"{indent}  ")
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            yield f"{indent}{name}: {'' if shown is None else shown}".rstrip()


def main() -> None:
    """Entry point of the `thoughtcycle` script.

    A terminal that lacks a letter gets a substitute; what the program logs is for whoever sets up logging.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    logging.getLogger("thoughtcycle").addHandler(logging.NullHandler())
    app(prog_name="thoughtcycle")
