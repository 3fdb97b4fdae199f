"""Settles the language and the time zone of a turn: the run's own, the user's stored ones, else defaults."""

import logging
from typing import NamedTuple

from thoughtcycle.memory.formed import UserSettings
from thoughtcycle.mind.language.detect import detect_language
from thoughtcycle.nodes.context import check_time_zone
from thoughtcycle.nodes.turn import Turn
from thoughtcycle.prompts.errors import InputRefused
from thoughtcycle.prompts.loader import Language

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
    language = settle_language(context.language, stored, text, turn.language)
    return Settled(language, settle_time_zone(context.time_zone, stored, turn.services.time_zone))


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
