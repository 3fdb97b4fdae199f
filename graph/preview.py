"""What of the memory a model would be given for a message, without asking any model."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from thoughtcycle.graph.settings import Settings
from thoughtcycle.memory.brief_gathering import Plan, beside, gathered, made
from thoughtcycle.memory.briefing import Brief, Recipe
from thoughtcycle.memory.ids import new_id
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import utc_now
from thoughtcycle.mind.language.situations import situation_contexts
from thoughtcycle.mind.language.unsaying import unsays
from thoughtcycle.nodes.recall import query_of
from thoughtcycle.nodes.settling import settle_language, settle_time_zone
from thoughtcycle.prompts.errors import InputRefused

LEAST, MOST = 10, 100_000
"""Tokens that may be asked for."""


@dataclass(frozen=True)
class Wanted:
    """A message, and how its briefing shall be made; None: as deployment and user have set it."""

    message: str
    chat: str | None = None
    tokens: int | None = None
    recipe: Recipe | None = None
    smart: bool | None = None
    language: str = "auto"
    time_zone: str | None = None


def planned(wanted: Wanted, settings: Settings) -> Plan:
    """How the briefing is made; InputRefused for an empty message."""
    if not wanted.message.strip():
        raise InputRefused("message_empty")
    limits = settings.limits
    return Plan(
        tokens=wanted.tokens if wanted.tokens is not None else limits.briefing_tokens,
        recipe=wanted.recipe or limits.briefing_recipe,
        facts=limits.briefing_facts,
        smart=wanted.smart,
    )


async def preview(memory: Memory, user: str, wanted: Wanted, settings: Settings) -> Brief:
    """The briefing of `wanted.message`; nothing is written and no access is counted."""
    plan = planned(wanted, settings)
    stored = await memory.settings(user)
    message, chat = wanted.message, wanted.chat
    spoken = settle_language(wanted.language, stored, message, settings.language or "pt")
    zone = settle_time_zone(wanted.time_zone, stored, settings.time_zone)
    recent = await memory.conversation(user, chat, limit=settings.limits.window_cycles) if chat else []
    material = await gathered(
        memory,
        user,
        chat or new_id(),
        query_of(message, spoken),
        plan,
        now=utc_now().astimezone(ZoneInfo(zone)),
        calls_for=situation_contexts(message, spoken),
        unsaid=unsays,
    )
    return made(beside(material, recent), plan, spoken)
