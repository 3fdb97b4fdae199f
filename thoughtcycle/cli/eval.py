"""`thoughtcycle eval`: measures retrieval on public data sets, and the rules on labelled messages."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from dataclasses import asdict
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from thoughtcycle.cli.files import check_writable, new_file
from thoughtcycle.cli.options import TEXTS, Json, Yes, check_names, print_result
from thoughtcycle.errors import InputRefused

if TYPE_CHECKING:
    from thoughtcycle.evals.retrieval import Report
    from thoughtcycle.memory.index import Embedder

R = TypeVar("R")

app = typer.Typer(help=TEXTS["help.eval"], no_args_is_help=True)

Html = Annotated[Path | None, typer.Option("--html", help=TEXTS["option.html"])]
Failures = Annotated[bool, typer.Option("--failures", help=TEXTS["option.failures"])]
Data = Annotated[Path, typer.Option("--data", help=TEXTS["option.data"])]


@app.command(help=TEXTS["help.locomo"])
def locomo(data: Data, as_json: Json = False, html: Html = None, yes: Yes = False) -> None:
    from thoughtcycle.evals.locomo import evaluate

    _print_scores(evaluate, data, as_json, html, yes)


@app.command(help=TEXTS["help.prefeval"])
def prefeval(data: Data, as_json: Json = False, html: Html = None, yes: Yes = False) -> None:
    from thoughtcycle.evals.prefeval import evaluate

    _print_scores(evaluate, data, as_json, html, yes)


@app.command(help=TEXTS["help.economy"])
def economy(data: Data, as_json: Json = False) -> None:
    from thoughtcycle.evals.economy import evaluate

    report = _run_evaluation(evaluate, data)
    print_result(report.as_json(), report.as_text(), as_json)


@app.command(help=TEXTS["help.compression"])
def compression(data: Data, as_json: Json = False) -> None:
    from thoughtcycle.evals import compression as chats

    found = asyncio.run(chats.evaluate(data))
    print_result(chats.as_json(found), chats.as_text(found), as_json)


@app.command(help=TEXTS["help.messages"])
def messages(as_json: Json = False, failures: Failures = False) -> None:
    from thoughtcycle.evals import everyday as labelled
    from thoughtcycle.prompts.loader import LANGUAGES

    if failures:
        typer.echo("\n".join(line for language in LANGUAGES for line in labelled.failures(language)))
        return
    results = labelled.evaluate()
    print_result(labelled.as_json(results), labelled.as_text(results), as_json)


@app.command(help=TEXTS["help.funnel"])
def funnel(
    data: Annotated[Path | None, typer.Option("--data", help=TEXTS["option.data"])] = None,
    as_json: Json = False,
    failures: Failures = False,
) -> None:
    from thoughtcycle.evals.everyday_labels import SERIES
    from thoughtcycle.evals.funnel import report, wrong
    from thoughtcycle.prompts.loader import LANGUAGES

    if failures:
        lines = (wrong(language, series) for series, language in product(SERIES, LANGUAGES))
        typer.echo("\n".join(chain.from_iterable(lines)))
        return
    found = report(data)
    print_result(found.as_json(), found.as_text(), as_json)


@app.command(help=TEXTS["help.reconcile"])
def reconcile(
    data: Annotated[Path | None, typer.Option("--data", help=TEXTS["option.sick_br"])] = None,
    as_json: Json = False,
) -> None:
    from thoughtcycle.evals import reconcile as pairs

    found = pairs.sick(data) if data is not None else {}
    results = pairs.evaluate()
    print_result(pairs.as_json(results, found), pairs.as_text(results, found), as_json)


@app.command(help=TEXTS["help.langsmith"])
def langsmith(
    names: Annotated[list[str] | None, typer.Option("--set", help=TEXTS["option.set"])] = None,
    as_json: Json = False,
) -> None:
    from langsmith.utils import LangSmithError, get_env_var

    from thoughtcycle.evals.langsmith_sets import run, sets
    from thoughtcycle.runtime.settings import load_settings
    from thoughtcycle.runtime.tracing import masked_client

    every = {one.name: one for one in sets()}
    wanted = check_names(names, list(every), "--set") or list(every)
    if not (get_env_var("API_KEY") or "").strip():
        raise InputRefused("langsmith_key_missing")
    client = masked_client(load_settings().trace_key)
    for name in wanted:
        try:
            with redirect_stdout(sys.stderr):  # the library prints its progress
                outcome = run(client, every[name])
        except (LangSmithError, ValueError) as error:  # ValueError: an answer that is not LangSmith's
            raise InputRefused("langsmith_failed", cause=type(error).__name__) from error
        scores = [f"  {name:<24}{score:.3f}" for name, score in outcome.scores.items()]
        text = "\n".join([TEXTS.fill("langsmith.done", **asdict(outcome)), *scores])
        print_result(asdict(outcome), text, as_json)


def _print_scores(
    evaluate: "Callable[[Path, Embedder | None], Awaitable[Report]]",
    data: Path,
    as_json: bool,
    html: Path | None,
    replace: bool,
) -> None:
    """Evaluates and prints the scores; checks first whether the page can be written: it takes minutes."""
    from thoughtcycle.evals.retrieval_page import page

    if html is not None:
        check_writable(html, replace=replace)
    report = _run_evaluation(evaluate, data)
    if html is not None:
        with new_file(html, replace=replace) as file:
            file.write(page(report).encode())
    print_result(report.as_json(), report.as_text(), as_json)


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
