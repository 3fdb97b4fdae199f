"""Options common to all commands, and the decorator that turns failures into one line."""

import functools
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Any, NoReturn, ParamSpec, TypeVar
from unicodedata import category

import typer

from thoughtcycle.errors import InputRefused, ThoughtcycleError
from thoughtcycle.prompts.loader import LANGUAGES, Language, texts
from thoughtcycle.runtime.env_file import read_env_file

_CONTROLS = re.compile("[\x7f-\x9f]")
"""Control characters that JSON passes on and a terminal would obey."""

P = ParamSpec("P")
R = TypeVar("R")


def ui_language() -> Language:
    """The language of the command's own texts: --language, THOUGHTCYCLE_LANGUAGE, the system's, else pt."""
    options = dict(pairwise([part for given in sys.argv for part in given.split("=", 1)]))
    names = ("THOUGHTCYCLE_LANGUAGE", "LC_ALL", "LANG")
    for wanted in (options.get("--language", ""), *(os.environ.get(name, "") for name in names)):
        for language in LANGUAGES:
            if wanted.casefold().startswith(language):
                return language
    return "pt"


def print_error(error: ThoughtcycleError) -> None:
    """Prints the error as one line on stderr."""
    sys.stderr.write(f"thoughtcycle: {one_line(error.text(ui_language()))}\n")


def one_line(text: str) -> str:
    """`text` as one printable line."""
    return " ".join(filter(None, map(printable, text.split())))


def printable(text: str) -> str:
    """`text` without the control characters that a terminal would obey."""
    return "".join(character for character in text if _is_printable(character))


def _is_printable(character: str) -> bool:
    """Whether a terminal may get the character: spaces and joiners of emoji and scripts included."""
    return character.isprintable() or character in "\n\t\u200c\u200d" or category(character) == "Zs"


def read_dotenv() -> None:
    """Reads `.env` of the current folder: before the first text, whose language it may set."""
    try:
        read_env_file()
    except InputRefused as error:
        print_error(error)
        raise SystemExit(1) from None


read_dotenv()
TEXTS = texts(ui_language(), "cli")

User = Annotated[str | None, typer.Option("--user", help=TEXTS["option.user"])]
Db = Annotated[str | None, typer.Option("--db", help=TEXTS["option.db"])]
Flag = functools.partial(typer.Option, metavar="")
"""An option without a value: its help shows none."""

Json = Annotated[bool, Flag("--json", help=TEXTS["option.json"])]
Yes = Annotated[bool, Flag("--yes", help=TEXTS["option.yes"])]


def check_user(user: str | None, configured: str | None) -> str:
    """The user of this command; NotAllowed for an empty name."""
    from thoughtcycle.nodes.base.context import Context, check
    from thoughtcycle.runtime.settings import login_name

    chosen = user if user is not None else configured or login_name()
    return check(Context(user_id=chosen)).user_id


def fail(error: ThoughtcycleError) -> NoReturn:
    """Prints the error and ends the command with exit code 1."""
    print_error(error)
    raise typer.Exit(1)


def reports_failures(command: Callable[P, R]) -> Callable[P, R]:
    """Decorates a command: known failures become one line and exit code 1."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ThoughtcycleError as error:
            fail(error)

    return run


def check_language(language: str) -> str:
    """`language` when it is known; InputRefused otherwise."""
    if language not in ("auto", *LANGUAGES):
        raise InputRefused("unknown_language", language=repr(language))
    return language


def check_time(text: str | None, option: str) -> datetime | None:
    """A day or a moment in ISO 8601, UTC where it names no zone; InputRefused for anything else."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InputRefused("bad_option", option=option, value=repr(text), expected="2026-12-31") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def check_names(given: list[str] | None, known: Sequence[str], option: str) -> list[str] | None:
    """`given`, when all of it is known; InputRefused otherwise."""
    for name in given or ():
        if name not in known:
            raise InputRefused("bad_option", option=option, value=repr(name), expected=" | ".join(known))
    return given or None


def print_json(value: Any) -> None:
    """Prints one JSON object as one line on stdout."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    sys.stdout.write(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    sys.stdout.flush()
