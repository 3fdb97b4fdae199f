"""`thoughtcycle eval`: measures retrieval on public data sets, and the rules on labelled messages."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from thoughtcycle.cli.files import check_writable, new_file
from thoughtcycle.cli.options import TEXTS, Json, Yes, print_json, reports_failures

if TYPE_CHECKING:
    from thoughtcycle.evals.retrieval_scores import Report
    from thoughtcycle.memory.index import Embedder

R = TypeVar("R")

app = typer.Typer(help=TEXTS["help.eval"], no_args_is_help=True)

Html = Annotated[Path | None, typer.Option("--html", help=TEXTS["option.html"])]
Failures = Annotated[bool, typer.Option("--failures", help=TEXTS["option.failures"])]
SickBr = Annotated[Path | None, typer.Option("--data", help=TEXTS["option.sick_br"])]
Data = Annotated[Path, typer.Option("--data", help=TEXTS["option.data"])]
MaybeData = Annotated[Path | None, typer.Option("--data", help=TEXTS["option.data"])]


@app.command(help=TEXTS["help.locomo"])
@reports_failures
def locomo(data: Data, as_json: Json = False, html: Html = None, yes: Yes = False) -> None:
    from thoughtcycle.evals.locomo import evaluate

    _print(evaluate, data, as_json, html, replace=yes)


@app.command(help=TEXTS["help.prefeval"])
@reports_failures
def prefeval(data: Data, as_json: Json = False, html: Html = None, yes: Yes = False) -> None:
    from thoughtcycle.evals.prefeval import evaluate

    _print(evaluate, data, as_json, html, replace=yes)


@app.command(help=TEXTS["help.economy"])
@reports_failures
def economy(data: Data, as_json: Json = False) -> None:
    from thoughtcycle.evals.economy import evaluate

    report = _run_evaluation(evaluate, data)
    if as_json:
        print_json(report.as_json())
    else:
        typer.echo(report.as_text())


@app.command(help=TEXTS["help.compression"])
@reports_failures
def compression(data: Data, as_json: Json = False) -> None:
    from thoughtcycle.evals import compression as chats

    found = asyncio.run(chats.evaluate(data))
    if as_json:
        print_json(chats.as_json(found))
    else:
        typer.echo(chats.as_text(found))


@app.command(help=TEXTS["help.messages"])
@reports_failures
def messages(as_json: Json = False, failures: Failures = False) -> None:
    from thoughtcycle.evals import everyday as labelled
    from thoughtcycle.prompts.loader import LANGUAGES

    if failures:
        typer.echo("\n".join(line for language in LANGUAGES for line in labelled.failures(language)))
        return
    results = labelled.evaluate()
    if as_json:
        print_json(labelled.as_json(results))
    else:
        typer.echo(labelled.as_text(results))


@app.command(help=TEXTS["help.funnel"])
@reports_failures
def funnel(data: MaybeData = None, as_json: Json = False, failures: Failures = False) -> None:
    from thoughtcycle.evals.everyday_labels import SERIES
    from thoughtcycle.evals.funnel import report, wrong
    from thoughtcycle.prompts.loader import LANGUAGES

    if failures:
        typer.echo(
            "\n".join(
                line for series, language in product(SERIES, LANGUAGES) for line in wrong(language, series)
            )
        )
        return
    found = report(data)
    if as_json:
        print_json(found.as_json())
    else:
        typer.echo(found.as_text())


@app.command(help=TEXTS["help.reconcile"])
@reports_failures
def reconcile(data: SickBr = None, as_json: Json = False) -> None:
    from thoughtcycle.evals import reconcile as pairs

    found = pairs.sick(data) if data is not None else {}
    results = pairs.evaluate()
    if as_json:
        print_json(pairs.as_json(results, found))
    else:
        typer.echo(pairs.as_text(results, found))


def _print(
    evaluate: "Callable[[Path, Embedder | None], Awaitable[Report]]",
    data: Path,
    as_json: bool,
    html: Path | None,
    *,
    replace: bool,
) -> None:
    """Evaluates; a page that could not be written is refused before, not after the minutes it takes."""
    from thoughtcycle.evals.retrieval_page import page

    if html is not None:
        check_writable(html, replace=replace)
    report = _run_evaluation(evaluate, data)
    if html is not None:
        with new_file(html, replace=replace) as file:
            file.write(page(report).encode())
    if as_json:
        print_json(report.as_json())
    else:
        typer.echo(report.as_text())


def _run_evaluation(evaluate: "Callable[[Path, Embedder | None], Awaitable[R]]", data: Path) -> R:
    """Runs the evaluation with the configured embeddings."""
    from thoughtcycle.mind.embeddings import NamedEmbeddings, build_embeddings
    from thoughtcycle.mind.model_settings import ModelSettings

    embeddings = build_embeddings(ModelSettings())

    async def run() -> R:
        try:
            return await evaluate(data, embeddings)
        finally:
            if isinstance(embeddings, NamedEmbeddings):
                await embeddings.aclose()

    return asyncio.run(run())
