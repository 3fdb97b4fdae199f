"""The labelled pairs are enough, in halves, and what is measured on them stays within the goals."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thoughtcycle.cli.main import app
from thoughtcycle.errors import InputRefused
from thoughtcycle.evals.reconcile import MEASURES, score, sick
from thoughtcycle.prompts.loader import LANGUAGES, Language


@pytest.mark.spec("HM-6")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_held_out_half_meets_the_goals(language: Language) -> None:
    found = score(language, "held_out")
    assert set(found) == set(MEASURES)
    assert found["same merged"].pairs >= 100 and found["corrections superseded"].pairs >= 30
    assert found["unrelated merged"].pairs + found["contradicting merged"].pairs >= 100
    assert found["corrections superseded"].share >= 0.85
    assert found["same merged"].share >= 0.70
    assert found["unrelated merged"].share <= 0.02
    assert found["contradicting merged"].share <= 0.02
    assert found["unrelated superseded"].share <= 0.05


def table(path: Path, *rows: tuple[str, str, str]) -> Path:
    lines = ["sentence_A\tsentence_B\tentailment_label\trelatedness_score\tset"]
    lines += ["\t".join((*row, "4.5", "TRAIN")) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_sentence_pairs_are_counted_per_label(tmp_path: Path) -> None:
    table(
        tmp_path / "sick_br_trial_train.tsv",
        ("Um homem toca violão", "Não há nenhum homem tocando violão", "CONTRADICTION"),
        ("Um homem toca violão", "Um homem está tocando violão", "ENTAILMENT"),
    )
    found = sick(tmp_path)
    assert {label: count.share for label, count in found.items()} == {"CONTRADICTION": 0.0, "ENTAILMENT": 1.0}


@pytest.mark.parametrize("text", ["", "a\tb\n1\t2\n", "sentence_A\n"])
def test_what_is_no_such_table_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "sick_br_trial_train.tsv"
    file.write_text(text)
    for path in (file, tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputRefused):
            sick(path)


def test_the_command_prints_tables_and_json(tmp_path: Path) -> None:
    run = CliRunner().invoke
    shown = run(app, ["eval", "reconcile"])
    assert (shown.exit_code, "corrections superseded" in shown.stdout) == (0, True)
    file = table(tmp_path / "sick_br_trial_train.tsv", ("Um gato dorme", "Um cão dorme", "NEUTRAL"))
    told = json.loads(run(app, ["eval", "reconcile", "--json", "--data", str(file)]).stdout)
    assert told["sick_br"] == {"NEUTRAL": 0.0} and told["pt"]["held_out"]["same merged"] > 0.7
    refused = run(app, ["eval", "reconcile", "--data", str(tmp_path / "no")])
    assert refused.exit_code == 1 and refused.stderr.count("\n") == 1
