"""Previews the briefing of a message, without asking any model."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from thoughtcycle.errors import InputRefused
from thoughtcycle.language.intents import asks_not_to_keep
from thoughtcycle.language.parse import situation_contexts
from thoughtcycle.memory.briefing import BriefingOptions, BuiltBriefing, Recipe, build_brief, read_material
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import new_id, utc_now
from thoughtcycle.nodes.base.locale import choose_language, choose_time_zone
from thoughtcycle.nodes.recall import query_of
from thoughtcycle.runtime.settings import Settings

LEAST, MOST = 10, 100_000
"""Range of the token budget."""


@dataclass(frozen=True)
class Wanted:
    """A message and the options of its briefing; None: as deployment and user have set it."""

    message: str
    chat: str | None = None
    tokens: int | None = None
    recipe: Recipe | None = None
    smart: bool | None = None
    language: str = "auto"
    time_zone: str | None = None


def planned(wanted: Wanted, settings: Settings) -> BriefingOptions:
    """The plan of the briefing; InputRefused for an empty message."""
    if not wanted.message.strip():
        raise InputRefused("message_empty")
    limits = settings.limits
    return BriefingOptions(
        tokens=wanted.tokens if wanted.tokens is not None else limits.briefing_tokens,
        recipe=wanted.recipe or limits.briefing_recipe,
        facts=limits.briefing_facts,
        smart=wanted.smart,
    )


async def preview(memory: Memory, user: str, wanted: Wanted, settings: Settings) -> BuiltBriefing:
    """The briefing of `wanted.message`; nothing is written and no access is counted."""
    plan = planned(wanted, settings)
    stored = await memory.settings(user)
    message, chat = wanted.message, wanted.chat
    language = choose_language(wanted.language, stored, message, settings.language or "pt")
    zone = choose_time_zone(wanted.time_zone, stored, settings.time_zone)
    recent = await memory.conversation(user, chat, limit=settings.limits.window_cycles) if chat else []
    material = await read_material(
        memory,
        user,
        chat or new_id(),
        query_of(message, language),
        plan,
        now=utc_now().astimezone(ZoneInfo(zone)),
        calls_for=situation_contexts(message, language),
        unsaid=asks_not_to_keep,
    )
    return build_brief(material.with_recent(recent), plan, language)
