"""Whole-user commands as a person meets them: files are whole or not there, failures are one line."""

import json
from pathlib import Path

import pytest

from support.command import refused, run


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("filled") / "m.db"
    talk = "Meu nome é Pedro e odeio coentro\nEsqueça que odeio coentro\n"
    assert run("chat", "--chat", "jantar", stdin=talk, db=db).returncode == 0
    return db


@pytest.mark.spec("BY-4")
def test_an_export_is_written_whole_and_for_its_owner_only(filled: Path, tmp_path: Path) -> None:
    file = tmp_path / "ana.jsonl"
    assert run("export", str(file), db=filled).returncode == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (lines[0]["user"], lines[-1]["line"]) == ("ana", "end")
    assert file.stat().st_mode & 0o777 == 0o600
    assert str(file) in refused(run("export", str(file), db=filled))
    assert (
        run("export", str(file), "--yes", "--json", db=filled).stdout == f"{json.dumps(lines[-1]['lines'])}\n"
    )
    piped = run("export", db=filled).stdout.splitlines()
    assert [json.loads(line) for line in piped[1:]] == lines[1:]
    refused(run("export", str(tmp_path / "none" / "x"), db=filled))
    assert [path.name for path in tmp_path.iterdir()] == ["ana.jsonl"]
