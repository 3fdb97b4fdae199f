"""Reads the commands of a chat: names, arguments, on and off, in both languages (pure)."""

import re
from typing import NamedTuple

from thoughtcycle.language.parse import detect_language
from thoughtcycle.prompts.loader import Language

LOOK_UP, SMART, PAUSE = "lembrar", "smart", "pausar"
_NAMES = {"lembrar": LOOK_UP, "remember": LOOK_UP, "smart": SMART, "pausar": PAUSE, "pause": PAUSE}
_LANGUAGES: dict[str, Language] = {"lembrar": "pt", "pausar": "pt", "remember": "en", "pause": "en"}
_COMMAND = re.compile(rf"/({'|'.join(_NAMES)})(?:\s+(.*))?", re.DOTALL | re.IGNORECASE)
_ON, _OFF = ("on", "sim", "yes", "ligado"), ("off", "não", "nao", "no", "desligado")
SWITCH = dict.fromkeys(_ON, True) | dict.fromkeys(_OFF, False)
"""Words for on and off."""


def switch_in(text: str) -> bool | None:
    """The value of a word for on or off, in either language; None for any other."""
    return SWITCH.get(text.strip().casefold())


class Command(NamedTuple):
    """A command as it was typed."""

    name: str
    argument: str


def command_in(text: str) -> Command | None:
    """The command that a message is; None when it is none."""
    match = _COMMAND.fullmatch(text)
    return Command(_NAMES[match[1].casefold()], (match[2] or "").strip()) if match else None


def command_language(text: str, spoken: Language | None, default: Language) -> Language:
    """The language to answer a command in: of its argument, of what was `spoken`, its own, else `default`."""
    match = _COMMAND.fullmatch(text)
    own = spoken or (_LANGUAGES.get(match[1].casefold()) if match else None) or default
    said = (match[2] or "").strip() if match else ""
    return own if said.casefold() in ("on", "off") else detect_language(said, own)
