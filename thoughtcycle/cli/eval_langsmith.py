"""`thoughtcycle eval langsmith`: the evaluation sets as datasets of LangSmith, and the rules run on them."""

import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from thoughtcycle.cli.options import TEXTS, Json, check_names, print_json, reports_failures
from thoughtcycle.errors import InputRefused

if TYPE_CHECKING:
    from thoughtcycle.evals.langsmith_sets import Outcome


@reports_failures
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
            with redirect_stdout(sys.stderr):  # what the library says of its progress
                outcome = run(client, every[name])
        except (LangSmithError, ValueError) as error:  # ValueError: an answer that is not LangSmith's
            raise InputRefused("langsmith_failed", cause=type(error).__name__) from error
        _result_line(outcome, as_json)


def _result_line(outcome: "Outcome", as_json: bool) -> None:
    if as_json:
        print_json(asdict(outcome))
        return
    typer.echo(TEXTS.fill("langsmith.done", **asdict(outcome)))
    for name, score in outcome.scores.items():
        typer.echo(f"  {name:<24}{score:.3f}")
