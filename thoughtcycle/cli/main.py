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
    conversations,
    erasure,
    eval_langsmith,
    garden,
    jobs,
    keys,
    mcp,
    memories,
    metrics,
    profile,
    reembed,
    user_settings,
    web,
)
from thoughtcycle.cli import briefing as briefings
from thoughtcycle.cli import eval as evaluations
from thoughtcycle.cli.options import (
    TEXTS,
    Db,
    Flag,
    Json,
    User,
    check_language,
    check_names,
    check_user,
    print_json,
    reports_failures,
    ui_language,
)
from thoughtcycle.cli.resources import settings_for
from thoughtcycle.cli.usage_errors import PlainGroup

app = typer.Typer(
    cls=PlainGroup,
    help=TEXTS["help"],
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
memories.app.command("attach", help=TEXTS["help.attach"])(attachments.attach)
memories.app.command("file", help=TEXTS["help.file"])(attachments.file)
memories.app.command("erase", help=TEXTS["help.erase"])(erasure.erase)
app.add_typer(memories.app, name="memories")
evaluations.app.command("langsmith", help=TEXTS["help.langsmith"])(eval_langsmith.langsmith)
app.add_typer(evaluations.app, name="eval")
app.add_typer(chats.app, name="chats")
app.add_typer(conversations.app, name="conversations")
app.command("profile", help=TEXTS["help.profile"])(profile.profile)
app.add_typer(user_settings.app, name="settings")
app.command("garden", help=TEXTS["help.garden"])(garden.garden)
app.command("metrics", help=TEXTS["help.metrics"])(metrics.metrics)
app.add_typer(admin.app)
app.add_typer(reembed.app)
app.command("briefing", help=TEXTS["help.briefing"])(briefings.briefing)
app.command("mcp", help=TEXTS["help.mcp"])(mcp.mcp)
app.command("worker", help=TEXTS["help.worker"])(jobs.worker)
app.add_typer(jobs.app, name="jobs")
app.add_typer(keys.app, name="keys")
app.add_typer(channels.app, name="channels")
app.command("web", help=TEXTS["help.web"])(web.web)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"thoughtcycle {version('thoughtcycle')}")
        raise typer.Exit


@app.callback(help=TEXTS["help"])
def options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_show_version, is_eager=True, help=TEXTS["option.version"]
        ),
    ] = False,
) -> None:
    """Options of the command as a whole."""


@app.command(help=TEXTS["help.chat"])
@reports_failures
def chat(
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    name: Annotated[str | None, typer.Option("--chat", help=TEXTS["option.chat"])] = None,
    language: Annotated[str, typer.Option("--language", help=TEXTS["option.language"])] = "auto",
    time_zone: Annotated[str | None, typer.Option("--time-zone", help=TEXTS["option.time_zone"])] = None,
    model: Annotated[str | None, typer.Option("--model", help=TEXTS["option.model"])] = None,
    incognito: Annotated[bool, Flag("--incognito", help=TEXTS["option.incognito"])] = False,
) -> None:
    from thoughtcycle.cli.chat import run_chat
    from thoughtcycle.mind.model_settings import ModelSettings
    from thoughtcycle.nodes.base.context import Context, check

    settings = settings_for(db).model_copy(update={"language": ui_language()})
    models = ModelSettings(model=model) if model else ModelSettings()
    context = Context(
        user_id=check_user(user, settings.user),
        channel="cli",
        language=check_language(language),
        time_zone=time_zone,
        incognito=incognito,
    )
    run_chat(settings, models, check(context), name, as_json=as_json)


@app.command(help=TEXTS["help.actions"])
@reports_failures
def actions(user: User = None, db: Db = None, as_json: Json = False) -> None:
    from thoughtcycle.nodes.actions.registry import discover
    from thoughtcycle.runtime.settings import load_settings

    for name, action in discover(load_settings().disabled_actions).items():
        when = action.when(ui_language())
        if as_json:
            print_json({"name": name, "ends": action.ends, "writes": action.writes, "when": when})
        else:
            typer.echo(f"{name}{' *' if action.ends else ''}\n    {when}")


@app.command(help=TEXTS["help.graph"])
@reports_failures
def graph(
    name: Annotated[str, typer.Argument(metavar="NAME", help=TEXTS["argument.graph"])] = "thought_cycle",
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    from thoughtcycle.runtime.drawing import NAMES, drawing

    check_names([name], NAMES, TEXTS["graph"])
    drawn = drawing(next(known for known in NAMES if known == name))
    if as_json:
        print_json({"name": name, "mermaid": drawn})
    else:
        typer.echo(drawn)


@app.command(help=TEXTS["help.config"])
@reports_failures
def config(user: User = None, db: Db = None, as_json: Json = False) -> None:
    from thoughtcycle.memory.storage import parse_url
    from thoughtcycle.mind.model_settings import ModelSettings
    from thoughtcycle.nodes.actions.registry import discover
    from thoughtcycle.nodes.base.context import Context, check
    from thoughtcycle.runtime.settings import load_settings

    settings = load_settings()
    models = ModelSettings()
    owner = check_user(user, settings.user)
    check(Context(user_id=owner, time_zone=settings.time_zone))
    discover(settings.disabled_actions)
    shown = {
        "mind": "models" if models.configured else "rules",
        "language": ui_language(),
        "user": owner,
        "db": parse_url(settings.url(db)).shown,
        "time_zone": settings.time_zone,
        "disabled_actions": list(settings.disabled_actions),
        "limits": settings.limits.model_dump(),
        "models": models.masked() if models.configured else {},
    }
    if as_json:
        print_json(shown)
        return
    for line in _lines(shown):
        typer.echo(line)


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
