"""Settles the language and the time zone of a turn: the run's own, the user's stored ones, else defaults."""

import logging
from typing import NamedTuple

from thoughtcycle.memory.formed import UserSettings
from thoughtcycle.memory.zones import check_time_zone
from thoughtcycle.mind.language.detect import detect_language
from thoughtcycle.nodes.commands import command_in, command_language
from thoughtcycle.nodes.turn import Turn
from thoughtcycle.prompts.errors import InputRefused
from thoughtcycle.prompts.loader import LANGUAGES, Language

log = logging.getLogger(__name__)


class Settled(NamedTuple):
    """What holds for one turn."""

    language: Language
    time_zone: str


async def settle(turn: Turn, text: str) -> Settled:
    """For a turn with this message; what the user has set is read only where the run leaves it open."""
    context = turn.context
    stored = UserSettings(user=turn.user)
    if context.language == "auto" or context.time_zone is None:
        stored = await turn.memory.preferences(turn.user)
    spoken = last_spoken(turn)
    if command_in(text) and not (stored.language or context.language in LANGUAGES):
        language = command_language(text, spoken, turn.services.language)
    else:
        language = settle_language(context.language, stored, text, spoken or turn.services.language)
    return Settled(language, settle_time_zone(context.time_zone, stored, turn.services.time_zone))


def last_spoken(turn: Turn) -> Language | None:
    """The language of the thread's last message that was no command; None before any."""
    state = turn.state
    known = state["spoken"] if "spoken" in state else state.get("language")
    return next((language for language in LANGUAGES if language == known), None)


def settle_language(asked: str, stored: UserSettings, message: str, before: Language) -> Language:
    """The language `asked` for, the user's, that of the message, else that of what came `before` it."""
    if asked in ("pt", "en"):
        return "pt" if asked == "pt" else "en"
    return stored.language or detect_language(message, before)


def settle_time_zone(asked: str | None, stored: UserSettings, default: str) -> str:
    """The zone `asked` for, the user's, else the deployment's."""
    if asked is not None:
        return asked
    if stored.time_zone is not None:
        try:
            check_time_zone(stored.time_zone)
        except InputRefused:  # an import brought it, or this machine has other tables
            log.warning("a stored time zone is not known on this machine")
        else:
            return stored.time_zone
    return default
