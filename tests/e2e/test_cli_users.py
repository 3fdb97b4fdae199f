"""Whole-user commands as a person meets them: files are whole or not there, failures are one line."""

import json
import sqlite3
from contextlib import closing
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


@pytest.mark.spec("BY-4")
@pytest.mark.parametrize("command", ["backup", "export"])
def test_a_file_that_cannot_be_written_is_one_line(command: str, filled: Path) -> None:
    for place, why in ((filled.parent / "none" / "b.db", "não existe"), (filled / "b.db", "não é uma pasta")):
        line = refused(run(command, str(place), db=filled))
        assert "b.db" in line and "não pode ser gravado" in line and why in line


def test_a_backup_is_restored_over_what_was_broken(filled: Path, tmp_path: Path) -> None:
    db, copy = tmp_path / "m.db", tmp_path / "copy.db"
    assert run("backup", str(copy), db=filled).returncode == 0
    assert run("restore", str(copy), db=db).returncode == 0
    assert str(db) in refused(run("restore", str(copy), db=db))
    told = json.loads(run("stats", "--json", db=db).stdout)
    assert {(one["status"], one["kind"]): one["count"] for one in told["memories"]} == {
        ("active", "bio"): 1,
        ("hidden", "pref"): 1,
    }
    assert (told["chats"], told["cycles"]) == (1, 2)
    with closing(sqlite3.connect(db)) as broken, broken:
        broken.execute("DELETE FROM vectors")
    done = run("doctor", "--json", db=db)
    assert done.returncode == 1
    assert {json.loads(line)["code"] for line in done.stdout.splitlines()} == {"vector_missing"}
    assert run("doctor", "--repair", db=db).returncode == 0
    assert run("doctor", db=db).returncode == 0


def test_the_doctor_makes_no_database_to_look_at(tmp_path: Path) -> None:
    missing = tmp_path / "none" / "m.db"
    for options in ((), ("--repair",), ("--json",)):
        assert repr(str(missing)) in refused(run("doctor", *options, db=missing))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("BY-4")
def test_an_import_adds_what_is_not_there_yet(filled: Path, tmp_path: Path) -> None:
    file, db = tmp_path / "ana.jsonl", tmp_path / "m.db"
    assert run("export", str(file), db=filled).returncode == 0
    done = run("import", str(file), db=db, env={"THOUGHTCYCLE_LANGUAGE": "en"})
    assert done.stdout == f"Imported from {file}: 1 chats, 2 cycles, 1 memories.\n"
    assert done.stderr == ""
    again = json.loads(run("import", str(file), "--json", db=db).stdout)
    assert again == {"chats": 0, "cycles": 0, "memories": 0, "changes": 0, "sheets": 0, "files": 0}
    assert "Nome: Pedro" in run("memories", "list", db=db).stdout
    file.write_text(file.read_text()[:-50])
    assert str(file) in refused(run("import", str(file), "--user", "bia", db=db))


@pytest.mark.spec("BY-4")
def test_a_user_is_forgotten_with_the_threads(filled: Path, tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    assert run("backup", str(db), db=filled).returncode == 0
    assert run("chat", stdin="Meu nome é Bia\n", db=db, env={"THOUGHTCYCLE_USER": "bia"}).returncode == 0
    assert "--yes" in refused(run("forget-user", db=db))
    done = run("forget-user", "--yes", "--json", db=db)
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["left"] == {} and told["erased"]["threads"] == 1 and told["erased"]["cycles"] == 2
    assert b"coentro" not in db.read_bytes()
    assert "Nome: Bia" in run("memories", "list", "--user", "bia", db=db).stdout
    assert ".langgraph_api" in run("forget-user", "--yes", db=db).stdout
    with closing(sqlite3.connect(db)) as opened:
        assert opened.execute("SELECT count(DISTINCT thread_id) FROM checkpoints").fetchone() == (1,)


@pytest.mark.spec("BY-4")
def test_a_chat_is_renamed_resumed_and_deleted(filled: Path, tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    assert run("backup", str(db), db=filled).returncode == 0
    (chat,) = [json.loads(line) for line in run("chats", "list", "--json", db=db).stdout.splitlines()]
    assert (chat["title"], chat["cycles"]) == ("jantar", 2)
    assert run("chats", "rename", "jantar", "Almoço", db=db).returncode == 0
    assert run("chat", "--chat", "almoço", stdin="Moro em Recife\n", db=db).returncode == 0
    (chat,) = [json.loads(line) for line in run("chats", "list", "--json", db=db).stdout.splitlines()]
    assert (chat["title"], chat["cycles"]) == ("Almoço", 3)
    assert "--yes" in refused(run("chats", "delete", "almoço", db=db))
    assert run("chats", "delete", "almoço", "--yes", db=db).returncode == 0
    assert "Nenhuma conversa." in run("chats", "list", db=db).stdout
    assert run("memories", "list", "--json", db=db).stdout == ""
    assert "almoço" in refused(run("chats", "delete", "almoço", "--yes", db=db))
    assert b"Recife" not in db.read_bytes()
