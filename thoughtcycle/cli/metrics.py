"""`thoughtcycle metrics`: quality of the memory, from the store and from an evaluation file (LM-14)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thoughtcycle.cli.call import Call
from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.files import check_writable, new_file
from thoughtcycle.cli.options import TEXTS, Yes, one_line, print_json, ui_language

if TYPE_CHECKING:
    from thoughtcycle.evals.metrics import Metric
    from thoughtcycle.evals.metrics_page import Miss


def metrics(
    call: Call,
    file: Annotated[Path | None, typer.Option("--file", help=TEXTS["option.metrics_file"])] = None,
    html: Annotated[Path | None, typer.Option("--html", help=TEXTS["option.html"])] = None,
    yes: Yes = False,
) -> None:
    from thoughtcycle.evals.dialogue_file import read_dialogue
    from thoughtcycle.evals.metrics import as_json
    from thoughtcycle.evals.metrics_page import metrics_page

    settings, owner = call.settings, call.owner
    lines = read_dialogue(file) if file is not None else []
    if html is not None:
        check_writable(html, replace=yes)

    async def run() -> "tuple[list[Metric], list[Miss]]":
        from thoughtcycle.evals.dialogue_metrics import answers, dialogue_metrics, misses
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
            return [*found, *dialogue_metrics(asked)], misses(asked)

    found, wrong = asyncio.run(run())
    if html is not None:
        title = f"{owner}, {file.name}" if file is not None else owner
        page = metrics_page(found, wrong, title=title, language=ui_language())
        with new_file(html, replace=yes) as target:
            target.write(page.encode())
    if call.as_json:
        values = [
            {"user": line.user, "chat": line.chat, "message": line.message, "missing": missing, "came": came}
            for line, missing, came in wrong
        ]
        print_json({"user": owner, "metrics": as_json(found), "wrong": values})
        return
    _print(found, wrong)
    if html is not None:
        typer.echo(TEXTS.fill("metrics.written", file=html))


def _print(found: "Sequence[Metric]", wrong: "Sequence[Miss]") -> None:
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
    if wrong:
        typer.echo(words["wrong"])
        print_table(
            words["wrong_columns"],
            [
                tuple(map(one_line, (line.message, ", ".join(missing) or "–", ", ".join(came) or "–")))
                for line, missing, came in wrong
            ],
        )
