"""`thoughtcycle metrics`: quality of the memory, from the store and from an evaluation file (LM-14)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.files import check_writable, new_file
from thoughtcycle.cli.options import (
    TEXTS,
    Db,
    Json,
    User,
    Yes,
    check_user,
    one_line,
    print_json,
    reports_failures,
    ui_language,
)
from thoughtcycle.cli.resources import settings_for

if TYPE_CHECKING:
    from thoughtcycle.evals.dialogue_metrics import Answer
    from thoughtcycle.evals.metrics import Metric


@reports_failures
def metrics(
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    file: Annotated[Path | None, typer.Option("--file", help=TEXTS["option.metrics_file"])] = None,
    html: Annotated[Path | None, typer.Option("--html", help=TEXTS["option.html"])] = None,
    yes: Yes = False,
) -> None:
    from thoughtcycle.evals.dialogue_file import read_dialogue
    from thoughtcycle.evals.metrics import as_json as plain

    settings = settings_for(db)
    owner = check_user(user, settings.user)
    lines = read_dialogue(file) if file is not None else []
    if html is not None:
        check_writable(html, replace=yes)

    async def run() -> "tuple[list[Metric], list[Answer]]":
        from thoughtcycle.evals.dialogue_metrics import answers, dialogue_metrics
        from thoughtcycle.evals.memory_metrics import memory_metrics
        from thoughtcycle.mind.embeddings import NamedEmbeddings, build_embeddings
        from thoughtcycle.mind.model_settings import ModelSettings
        from thoughtcycle.runtime.opening import open_services

        models = ModelSettings()
        async with open_services(settings, models) as (services, _):
            found = await memory_metrics(services.memory, owner)
            if not lines:
                return found, []
            embeddings = build_embeddings(models)
            try:
                asked = await answers(lines, services.mind, embeddings, services.limits)
            finally:
                if isinstance(embeddings, NamedEmbeddings):
                    await embeddings.aclose()
            return [*found, *dialogue_metrics(asked)], asked

    found, asked = asyncio.run(run())
    if html is not None:
        title = f"{owner}, {file.name}" if file is not None else owner
        _write(html, found, asked, title, replace=yes)
    if as_json:
        print_json({"user": owner, "metrics": plain(found), "wrong": _wrong(asked)})
    else:
        _print(found, asked)
        if html is not None:
            typer.echo(TEXTS.fill("metrics.written", file=html))


def _write(
    html: Path, found: "Sequence[Metric]", asked: "Sequence[Answer]", title: str, *, replace: bool
) -> None:
    from thoughtcycle.evals.dialogue_metrics import misses
    from thoughtcycle.evals.metrics_page import metrics_page

    text = metrics_page(found, misses(asked), title=title, language=ui_language())
    with new_file(html, replace=replace) as file:
        file.write(text.encode())


def _wrong(asked: "Sequence[Answer]") -> list[dict[str, object]]:
    from thoughtcycle.evals.dialogue_metrics import misses

    return [
        {"user": line.user, "chat": line.chat, "message": line.message, "missing": missing, "came": came}
        for line, missing, came in misses(asked)
    ]


def _print(found: "Sequence[Metric]", asked: "Sequence[Answer]") -> None:
    from thoughtcycle.evals.dialogue_metrics import misses
    from thoughtcycle.evals.metrics import shown
    from thoughtcycle.prompts.forms import number
    from thoughtcycle.prompts.loader import texts

    language = ui_language()
    words = texts(language, "metrics")
    for source in ("store", "file"):
        rows = [
            (
                words[f"name.{one.name}"],
                shown(one, language),
                number(one.count, language),
                words[f"what.{one.name}"],
            )
            for one in found
            if one.source == source
        ]
        if rows:
            typer.echo(words[f"source.{source}"])
            print_table(words["columns"], rows)
            typer.echo()
    wrong = [
        tuple(map(one_line, (line.message, ", ".join(missing) or "–", ", ".join(came) or "–")))
        for line, missing, came in misses(asked)
    ]
    if wrong:
        typer.echo(words["wrong"])
        print_table(words["wrong_columns"], wrong)
