"""The commands that change or show a setting of the user's: `/smart` and `/pause` (SM-6, BY-10)."""

from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.commands.parse import PAUSE, SMART, SWITCH, Command

_SETTING = {SMART: "smart_context", PAUSE: "paused"}


async def change_setting(turn: Turn, command: Command) -> tuple[str, str]:
    """Sets what `/smart on|off` and `/pause on|off` ask for, or tells how it is set: (section, text)."""
    words = turn.texts("cycle")
    setting, argument = _SETTING[command.name], command.argument.casefold()
    if argument not in ("", *SWITCH):
        section = "switch.unknown"
        return section, words.fill(section, command=f"/{command.name}", value=command.argument)
    if argument:
        settings = await turn.memory.change_settings(turn.user, **{setting: SWITCH[argument]})
    else:
        settings = await turn.memory.settings(turn.user)
    section = f"{setting}.{'on' if getattr(settings, setting) else 'off'}"
    return section, words[section]
