"""Deleting as a person at the command line meets it: hidden, brought back, erased for good after a yes."""

import json
from pathlib import Path

import pytest

from support.command import refused, run

TALK = "Meu nome é Zoroastro e moro em Natal\nQual é o meu nome?\n"


def ids(db: Path) -> dict[str, str]:
    """Content of each active memory → id."""
    lines = run("memories", "list", "--json", db=db).stdout.splitlines()
    return {found["content"]: found["id"] for found in map(json.loads, lines)}


def holds(db: Path) -> list[str]:
    return [file.name for file in db.parent.iterdir() if b"oroastro" in file.read_bytes()]


@pytest.mark.spec("BY-9")
def test_a_memory_is_hidden_then_erased(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    assert run("chat", "--chat", "a", stdin=TALK, db=db).returncode == 0
    id = ids(db)["Nome: Zoroastro"]
    assert run("memories", "delete", id, db=db).returncode == 0
    for command in (["list", "--all"], ["list", "--all", "--json"], ["show", id], ["history", id]):
        shown = run("memories", *command, db=db)
        assert shown.returncode == 0 and "Zoroastro" not in shown.stdout
    assert holds(db)
    assert "--yes" in refused(run("memories", "erase", id, db=db))
    erased = run("memories", "erase", id, "--yes", db=db)
    assert erased.returncode == 0 and "LangSmith" in erased.stdout
    assert holds(db) == []
    refused(run("memories", "undo", id, db=db))
    assert list(ids(db)) == ["Mora em Natal"]
    told = json.loads(run("memories", "erase", ids(db)["Mora em Natal"], "--yes", "--json", db=db).stdout)
    assert (told["memories"], told["left"]) == (1, [])


@pytest.mark.spec("BY-9", "TC-11")
def test_what_a_chat_erases_for_good_is_gone_when_it_ends(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    said = run("chat", stdin=f"{TALK}Apague definitivamente meu nome\nQual é o meu nome?\n", db=db)
    assert said.returncode == 0
    assert "definitivo" in said.stdout and "[…]" not in said.stdout
    assert holds(db) == []


@pytest.mark.spec("BY-9")
def test_the_next_start_erases_what_is_due(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    assert run("chat", stdin=TALK, db=db).returncode == 0
    run("memories", "delete", ids(db)["Nome: Zoroastro"], db=db)
    assert run("worker", "--once", db=db).returncode == 0
    assert holds(db)
    soon = {"THOUGHTCYCLE_LIMITS__GRACE_HOURS": "0"}
    assert run("chat", stdin="oi\n", db=db, env=soon).returncode == 0
    assert holds(db) == []
