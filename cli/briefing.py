"""`thoughtcycle briefing`: what of the memory a model would be given for a message, and what it costs."""

from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from thoughtcycle.cli.opening import find_chat, with_memory
from thoughtcycle.cli.options import (
    TEXTS,
    Db,
    Json,
    User,
    check_language,
    check_names,
    one_line,
    printable,
    put_json,
    reported,
)
from thoughtcycle.prompts.errors import InputRefused

if TYPE_CHECKING:
    from thoughtcycle.memory.briefing import Brief
    from thoughtcycle.memory.memory import Memory

LEAST, MOST = 10, 100_000
"""Tokens that may be asked for."""


@reported
def briefing(
    message: Annotated[str, typer.Argument(help=TEXTS["argument.message"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    chat: Annotated[str | None, typer.Option("--chat", help=TEXTS["option.briefing_chat"])] = None,
    smart: Annotated[bool | None, typer.Option("--smart/--no-smart", help=TEXTS["option.smart"])] = None,
    recipe: Annotated[str | None, typer.Option("--recipe", help=TEXTS["option.briefing_recipe"])] = None,
    tokens: Annotated[int | None, typer.Option("--tokens", help=TEXTS["option.tokens"])] = None,
    language: Annotated[str, typer.Option("--language", help=TEXTS["option.language"])] = "auto",
    time_zone: Annotated[str | None, typer.Option("--time-zone", help=TEXTS["option.time_zone"])] = None,
) -> None:
    from thoughtcycle.graph.settings import load_settings
    from thoughtcycle.memory.brief_gathering import Plan, beside, gathered, made
    from thoughtcycle.memory.briefing import RECIPES
    from thoughtcycle.memory.records import new_id, utc_now
    from thoughtcycle.mind.language.situations import situation_contexts
    from thoughtcycle.nodes.context import check_time_zone
    from thoughtcycle.nodes.recall import query_of
    from thoughtcycle.nodes.settling import settle_language, settle_time_zone

    settings = load_settings()
    limits = settings.limits
    if not message.strip():
        raise InputRefused("message_empty")
    check_names([recipe] if recipe is not None else None, RECIPES, "--recipe")
    if tokens is not None and not LEAST <= tokens <= MOST:
        expected = f"{LEAST} … {MOST}"
        raise InputRefused("bad_option", option="--tokens", value=str(tokens), expected=expected)
    asked = check_language(language)
    if time_zone is not None:
        check_time_zone(time_zone)
    plan = Plan(
        tokens=tokens if tokens is not None else limits.briefing_tokens,
        recipe=next((one for one in RECIPES if one == recipe), limits.briefing_recipe),
        facts=limits.briefing_facts,
        smart=smart,
    )

    async def work(memory: "Memory", who: str) -> "Brief":
        found = await find_chat(memory, who, chat) if chat is not None else None
        stored = await memory.settings(who)
        spoken = settle_language(asked, stored, message, settings.language or "pt")
        now = utc_now().astimezone(ZoneInfo(settle_time_zone(time_zone, stored, settings.time_zone)))
        recent = await memory.conversation(who, found, limit=limits.window_cycles) if found else []
        query = query_of(message, spoken)
        called = situation_contexts(message, spoken)
        material = await gathered(memory, who, found or new_id(), query, plan, now=now, calls_for=called)
        return made(beside(material, recent), plan, spoken)

    brief = with_memory(db, user, work)
    if as_json:
        put_json(as_object(brief, plan.tokens))
    else:
        _print(brief, plan.tokens)


def as_object(brief: "Brief", budget: int) -> dict[str, Any]:
    """A briefing for machines."""
    sections = [
        {
            "section": one.name,
            "tokens": one.tokens,
            "left_out": one.left_out,
            "shown": [{"id": id, "score": score, "source": source} for id, score, source in one.shown],
        }
        for one in brief.sections
    ]
    return {
        "text": brief.text,
        "session": brief.session,
        "tokens": brief.tokens,
        "budget": budget,
        "left_out": brief.left_out,
        "sections": sections,
    }


def _print(brief: "Brief", budget: int) -> None:
    if not brief.text and not brief.session:
        typer.echo(TEXTS["briefing.nothing"])
    for text in filter(None, (brief.text, brief.session)):
        typer.echo(printable(text) + "\n")
    typer.echo(TEXTS.fill("briefing.total", tokens=brief.tokens, budget=budget, left_out=brief.left_out))
    for one in brief.sections:
        told = {"name": one.name, "tokens": one.tokens, "shown": len(one.shown), "left_out": one.left_out}
        typer.echo(TEXTS.fill("briefing.section", **told))
        for id, score, source in one.shown:
            typer.echo(f"  {score:6.3f}  {TEXTS[f'source.{source}']}  {one_line(id)[:8]}")
