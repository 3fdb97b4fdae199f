"""`thoughtcycle metrics` as a person meets it."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.command import refused, run

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "evaluation.jsonl")


@pytest.mark.spec("LM-14")
@pytest.mark.parametrize(
    ("language", "name", "all"),
    [("pt", "relevância contextual", "100,0%"), ("en", "contextual relevance", "100.0%")],
)
def test_table_and_page(tmp_path: Path, language: str, name: str, all: str) -> None:
    page, env = tmp_path / "m.html", {"THOUGHTCYCLE_LANGUAGE": language, "COLUMNS": "160"}
    done = run("metrics", "--file", EXAMPLE, "--html", str(page), db=tmp_path / "m.db", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{name} " in done.stdout and all in done.stdout
    assert done.stdout.rstrip().endswith(f"{page}.")
    text = page.read_text()
    assert (
        name in text
        and all in text
        and "<svg" in text
        and "http://" not in text.replace("http://www.w3.org", "")
    )
    assert ElementTree.fromstring(text.split("\n", 1)[1]).tag.endswith("html")


@pytest.mark.spec("LM-14")
def test_for_machines_and_without_a_file(tmp_path: Path) -> None:
    told = json.loads(run("metrics", "--json", db=tmp_path / "m.db").stdout)
    assert {one["source"] for one in told["metrics"]} == {"store"} and told["wrong"] == []
    assert all(set(one) == {"name", "value", "unit", "count", "source"} for one in told["metrics"])


def test_a_page_that_exists_is_replaced_with_yes_only(tmp_path: Path) -> None:
    (page := tmp_path / "m.html").write_text("mine")
    told = refused(run("metrics", "--html", str(page), db=tmp_path / "m.db"))
    assert str(page) in told and "--yes" in told and page.read_text() == "mine"
    done = run("metrics", "--html", str(page), "--yes", db=tmp_path / "m.db")
    assert (done.returncode, done.stderr) == (0, "") and page.read_text().startswith("<!DOCTYPE html>")


def test_bad_input_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"user": "ana"\n')
    page = tmp_path / "m.html"
    told = refused(run("metrics", "--file", str(bad), "--html", str(page), db=tmp_path / "m.db"))
    assert " 1 " in told and "JSON" in told and not page.exists()
    assert "nope" in refused(run("metrics", "--file", str(tmp_path / "nope"), db=tmp_path / "m.db"))
    assert "none" in refused(
        run("metrics", "--html", str(tmp_path / "none" / "m.html"), db=tmp_path / "m.db")
    )
