"""The commands of a chat: how each is called, and those that change the user's settings (SM-6, BY-10)."""

import re
from typing import NamedTuple

from thoughtcycle.mind.language.detect import detect_language
from thoughtcycle.nodes.turn import Turn
from thoughtcycle.prompts.loader import Language

LOOK_UP, SMART, PAUSE = "lembrar", "smart", "pausar"
_NAMES = {"lembrar": LOOK_UP, "remember": LOOK_UP, "smart": SMART, "pausar": PAUSE, "pause": PAUSE}
_LANGUAGES: dict[str, Language] = {"lembrar": "pt", "pausar": "pt", "remember": "en", "pause": "en"}
_NEUTRAL = ("on", "off")
_COMMAND = re.compile(rf"/({'|'.join(_NAMES)})(?:\s+(.*))?", re.DOTALL | re.IGNORECASE)
_SETTING = {SMART: "smart_context", PAUSE: "paused"}
_SWITCH = {
    "on": True,
    "off": False,
    "sim": True,
    "não": False,
    "nao": False,
    "yes": True,
    "no": False,
    "ligado": True,
    "desligado": False,
}


def switch_in(text: str) -> bool | None:
    """What a word for on or off means, in either language; None for any other."""
    return _SWITCH.get(text.strip().casefold())


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
    return own if said.casefold() in _NEUTRAL else detect_language(said, own)


async def switched(turn: Turn, command: Command) -> tuple[str, str]:
    """Sets what `/smart on|off` and `/pause on|off` ask for, or tells how it is set: (section, text)."""
    words = turn.texts("cycle")
    setting, argument = _SETTING[command.name], command.argument.casefold()
    if argument not in ("", *_SWITCH):
        section = "switch.unknown"
        return section, words.fill(section, command=f"/{command.name}", value=command.argument)
    if argument:
        settings = await turn.memory.change_settings(turn.user, **{setting: _SWITCH[argument]})
    else:
        settings = await turn.memory.settings(turn.user)
    section = f"{setting}.{'on' if getattr(settings, setting) else 'off'}"
    return section, words[section]
