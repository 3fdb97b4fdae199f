"""Chooses the language and the time zone of a turn: the run's, the user's stored ones, else defaults."""

import logging

from thoughtcycle.errors import InputRefused
from thoughtcycle.language.parse import detect_language
from thoughtcycle.memory.model import UserSettings, check_time_zone
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.commands.parse import command_in, command_language
from thoughtcycle.prompts.loader import LANGUAGES, Language

log = logging.getLogger(__name__)


Locale = tuple[Language, str]
"""The language and the time zone of a turn."""


async def choose_locale(turn: Turn, text: str) -> Locale:
    """Chooses for a message; reads the user's settings only where the run leaves something open."""
    context = turn.context
    stored = UserSettings(user=turn.user)
    if context.language == "auto" or context.time_zone is None:
        stored = await turn.memory.conversations.preferences(turn.user)
    spoken = last_spoken(turn)
    if command_in(text) and not (stored.language or context.language in LANGUAGES):
        language = command_language(text, spoken, turn.services.language)
    else:
        language = choose_language(context.language, stored, text, spoken or turn.services.language)
    return language, choose_time_zone(context.time_zone, stored, turn.services.time_zone)


def last_spoken(turn: Turn) -> Language | None:
    """The language of the thread's last message other than a command; None before any."""
    state = turn.state
    known = state["spoken"] if "spoken" in state else state.get("language")
    return next((language for language in LANGUAGES if language == known), None)


def choose_language(asked: str, stored: UserSettings, message: str, before: Language) -> Language:
    """The language `asked` for, the user's, that of the message, else that of what came `before` it."""
    if asked in ("pt", "en"):
        return "pt" if asked == "pt" else "en"
    return stored.language or detect_language(message, before)


def choose_time_zone(asked: str | None, stored: UserSettings, default: str) -> str:
    """The zone `asked` for, the user's, else the deployment's."""
    if asked is not None:
        return asked
    if stored.time_zone is not None:
        try:
            check_time_zone(stored.time_zone)
        except InputRefused:  # imported, or this machine has other tables
            log.warning("a stored time zone is not known on this machine")
        else:
            return stored.time_zone
    return default
