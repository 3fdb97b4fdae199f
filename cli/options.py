"""The options that every command takes, and the one place where a command's failure becomes a line."""

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

from thoughtcycle.graph.env_file import read_env_file
from thoughtcycle.prompts.errors import InputRefused, ThoughtcycleError
from thoughtcycle.prompts.loader import LANGUAGES, Language, texts

_CONTROLS = re.compile("[\x7f-\x9f]")
"""What JSON may hold as it is and a terminal would obey."""

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


def say(error: ThoughtcycleError) -> None:
    """The error as one line on stderr."""
    sys.stderr.write(f"thoughtcycle: {one_line(error.text(ui_language()))}\n")


def one_line(text: str) -> str:
    """`text` as one printable line."""
    return " ".join(filter(None, map(printable, text.split())))


def printable(text: str) -> str:
    """`text` without the control characters that a terminal would obey."""
    return "".join(character for character in text if _shown(character))


def _shown(character: str) -> bool:
    """Spaces of all kinds stay, and so do the joiners that emoji and some scripts are written with."""
    return character.isprintable() or character in "\n\t\u200c\u200d" or category(character) == "Zs"


def read_dotenv() -> None:
    """Reads `.env` of the current folder: before the first text, whose language it may set."""
    try:
        read_env_file()
    except InputRefused as error:
        say(error)
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
    """The user of this command; NotAllowed when a given name is empty."""
    from thoughtcycle.graph.settings import login_name
    from thoughtcycle.nodes.context import Context, check

    chosen = user if user is not None else configured or login_name()
    return check(Context(user_id=chosen)).user_id


def fail(error: ThoughtcycleError) -> NoReturn:
    """Says the error and ends the command with exit code 1."""
    say(error)
    raise typer.Exit(1)


def reported(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose known failures are one line and exit code 1."""

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


def put_json(value: Any) -> None:
    """One JSON object as one line on stdout."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    sys.stdout.write(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    sys.stdout.flush()
