"""The command's language, texts and options, checks of their values, output as lines and as JSON."""

import functools
import json
import os
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Any
from unicodedata import category

import typer

from thoughtcycle.errors import InputRefused, ThoughtcycleError
from thoughtcycle.prompts.loader import LANGUAGES, Language, texts
from thoughtcycle.runtime.env_file import read_env_file

_CONTROLS = re.compile("[\x7f-\x9f]")
"""Control characters that JSON passes on and a terminal would obey."""
_HARMLESS = "\n\t\u200c\u200d"
"""Not printable by Unicode, yet harmless: line feed, tab, and the joiners of emoji and scripts."""


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
    return "".join(one for one in text if one.isprintable() or one in _HARMLESS or category(one) == "Zs")


try:
    read_env_file()  # before the first text, whose language it may set
except InputRefused as unreadable:
    print_error(unreadable)
    raise SystemExit(1) from None
TEXTS = texts(ui_language(), "cli")

User = Annotated[str | None, typer.Option("--user", help=TEXTS["option.user"])]
Db = Annotated[str | None, typer.Option("--db", help=TEXTS["option.db"])]
Flag = functools.partial(typer.Option, metavar="")
"""An option without a value: its help shows none."""

Json = Annotated[bool, Flag("--json", help=TEXTS["option.json"])]
Yes = Annotated[bool, Flag("--yes", help=TEXTS["option.yes"])]


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


def print_result(value: Any, text: str, as_json: bool) -> None:
    """Prints a result: `value` as JSON, or its `text`."""
    if as_json:
        print_json(value)
    else:
        typer.echo(text)
