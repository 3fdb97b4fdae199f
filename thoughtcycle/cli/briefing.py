"""`thoughtcycle briefing`: the briefing of a model for a message, and its cost."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thoughtcycle.cli.call import Call, find_chat
from thoughtcycle.cli.options import TEXTS, check_language, check_names, one_line, print_json, printable
from thoughtcycle.errors import InputRefused

if TYPE_CHECKING:
    from thoughtcycle.memory.briefing import BuiltBriefing
    from thoughtcycle.memory.memory import Memory


def briefing(
    message: Annotated[str, typer.Argument(help=TEXTS["argument.message"])],
    call: Call,
    chat: Annotated[str | None, typer.Option("--chat", help=TEXTS["option.briefing_chat"])] = None,
    smart: Annotated[bool | None, typer.Option("--smart/--no-smart", help=TEXTS["option.smart"])] = None,
    recipe: Annotated[str | None, typer.Option("--recipe", help=TEXTS["option.briefing_recipe"])] = None,
    tokens: Annotated[int | None, typer.Option("--tokens", help=TEXTS["option.tokens"])] = None,
    language: Annotated[str, typer.Option("--language", help=TEXTS["option.language"])] = "auto",
    time_zone: Annotated[str | None, typer.Option("--time-zone", help=TEXTS["option.time_zone"])] = None,
) -> None:
    from thoughtcycle.memory.briefing import RECIPES
    from thoughtcycle.memory.model import check_time_zone
    from thoughtcycle.runtime.preview import LEAST, MOST, Wanted, planned, preview

    check_names([recipe] if recipe is not None else None, RECIPES, "--recipe")
    if tokens is not None and not LEAST <= tokens <= MOST:
        expected = f"{LEAST} … {MOST}"
        raise InputRefused("bad_option", option="--tokens", value=str(tokens), expected=expected)
    wanted = Wanted(
        message=message,
        tokens=tokens,
        recipe=next((one for one in RECIPES if one == recipe), None),
        smart=smart,
        language=check_language(language),
        time_zone=time_zone,
    )
    plan = planned(wanted, call.settings)
    if time_zone is not None:
        check_time_zone(time_zone)

    async def work(memory: "Memory", user: str) -> "BuiltBriefing":
        found = await find_chat(memory, user, chat) if chat is not None else None
        return await preview(memory, user, replace(wanted, chat=found), call.settings)

    brief = call.with_memory(work, embeddings=True)
    if call.as_json:
        print_json(as_object(brief, plan.tokens))
    else:
        _print(brief, plan.tokens)


def as_object(brief: "BuiltBriefing", budget: int) -> dict[str, Any]:
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
    whole = {"text": brief.text, "session": brief.session, "tokens": brief.tokens, "budget": budget}
    return {**whole, "left_out": brief.left_out, "sections": sections}


def _print(brief: "BuiltBriefing", budget: int) -> None:
    if not brief.text and not brief.session:
        typer.echo(TEXTS["briefing.nothing"])
    for text in filter(None, (brief.text, brief.session)):
        typer.echo(printable(text) + "\n")
    typer.echo(TEXTS.fill("briefing.total", tokens=brief.tokens, budget=budget, left_out=brief.left_out))
    for one in brief.sections:
        counts = {"tokens": one.tokens, "shown": len(one.shown), "left_out": one.left_out}
        typer.echo(TEXTS.fill("briefing.section", name=one.name, **counts))
        for id, score, source in one.shown:
            typer.echo(f"  {score:6.3f}  {TEXTS[f'source.{source}']}  {one_line(id)[:8]}")
