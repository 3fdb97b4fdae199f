"""Errors of commands as one line: exit code 1, or 2 for a command line that cannot be read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import typer
from pydantic import ValidationError
from typer.core import TyperGroup

from thoughtcycle.cli.options import print_error
from thoughtcycle.errors import Code, FieldRefused, InputRefused, ThoughtcycleError

_UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""The base class of typer's usage errors; its module depends on the version."""


class PlainGroup(TyperGroup):
    """The root command group, with errors as one line on stderr."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _errors_in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _errors_in_one_line():
            return super().invoke(ctx)


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    try:
        yield
    except ThoughtcycleError as error:
        print_error(error)
        raise typer.Exit(1) from error
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help is shown already
            raise
        print_error(_translated(error))
        raise typer.Exit(2) from error


def _translated(error: Any) -> ThoughtcycleError:
    """Our error for typer's error of a command line."""
    kind, ctx = type(error).__name__, error.ctx
    command = ctx.command_path if ctx is not None else "thoughtcycle"
    group = getattr(ctx.command, "commands", None) if ctx is not None else None
    if kind == "NoSuchOption":
        code: Code = "usage_option" if group is None else "usage_option_early"
        return InputRefused(code, option=error.option_name, command=command)
    if kind == "BadOptionUsage":
        return InputRefused("usage_option_value", option=error.option_name, command=command)
    if kind == "MissingParameter":
        return InputRefused("usage_missing", name=_name(error.param), command=command)
    if kind == "BadParameter":
        if choices := error.message.partition(" is not one of ")[2]:
            return InputRefused("bad_field", name=_name(error.param), expected=choices.rstrip("."))
        if isinstance(error.__cause__, ValidationError):
            return FieldRefused({**error.__cause__.errors()[0], "loc": (_name(error.param),)})
        return InputRefused("usage_value", name=_name(error.param), command=command)
    if group is not None:
        return InputRefused("usage_command", command=command, names=", ".join(group))
    return InputRefused("usage_extra", command=command)


def _name(param: Any) -> str:
    """As the user writes it: --port, or USER."""
    if param is None:
        return "?"
    first = str(param.opts[0])
    return first if first.startswith("-") else str(param.metavar or param.name.upper())
