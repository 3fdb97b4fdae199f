"""The proof of forgetting at the command line: `--prove`, its receipt, and `prove`."""

import json
from pathlib import Path

import pytest

from support.command import refused, run

TALK = "Meu nome é Zoroastro e moro em Quixadá\nQual é o meu nome?\n"


@pytest.mark.spec("BY-14")
def test_a_proof_is_printed_kept_and_checked(tmp_path: Path) -> None:
    db, folder = tmp_path / "m.db", tmp_path / "here"
    folder.mkdir()
    spool = {"THOUGHTCYCLE_SPOOL": str(tmp_path / "spool")}
    assert run("chat", stdin=TALK, db=db, env=spool).returncode == 0
    lines = run("memories", "list", "--json", db=db).stdout.splitlines()
    ids = {found["content"]: found["id"] for found in map(json.loads, lines)}
    done = run("memories", "erase", ids["Nome: Zoroastro"], "--prove", "--yes", db=db, cwd=folder, env=spool)
    assert done.returncode == 0, done.stderr
    assert "em lugar nenhum" in done.stdout and "LangSmith" in done.stdout
    (receipt,) = folder.iterdir()
    assert receipt.stat().st_mode & 0o777 == 0o600 and receipt.name in done.stdout
    kept = json.loads(receipt.read_text())
    assert kept["result"] == "gone" and "oroastro" not in receipt.read_text().lower()
    assert {file["kind"] for file in kept["after"]["files"]} == {"sqlite", "bytes"}
    assert done.stdout.startswith("Apagad") and kept["says"][0] in done.stdout
    checked = run("prove", str(receipt), stdin="zoroastro\nNome: Zoroastro\n", db=db, env=spool)
    assert checked.returncode == 0 and "em lugar nenhum" in checked.stdout
    assert "nº 2" in refused(run("prove", str(receipt), stdin="Zoroastro\nPedro\n", db=db))
    assert str(db) in refused(run("prove", str(receipt), stdin="Zoroastro\n", env=spool))
    assert "another.db" in refused(
        run("prove", str(receipt), stdin="Zoroastro\n", db=tmp_path / "another.db")
    )
    refused(run("prove", str(receipt), db=db))
    refused(run("prove", str(db), db=db))
    copy = tmp_path / "copy.jsonl"
    copy.write_text("Zoroastro")
    again = run("prove", str(receipt), "--also", str(copy), "--json", stdin="Zoroastro\n", db=db)
    assert again.returncode == 1
    assert [one["place"] for one in json.loads(again.stdout)["after"]["there"]] == ["copy.jsonl"]
    gone = run("forget-user", "--prove", "--yes", "--json", db=db, cwd=folder, env=spool)
    assert gone.returncode == 0, gone.stdout
    assert json.loads(gone.stdout)["proof"]["result"] == "gone"
    assert b"uixad" not in db.read_bytes()
