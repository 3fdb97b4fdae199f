"""Files on the command line and in a chat: kept, found, written back, refused in one line."""

from pathlib import Path

import pytest

from support.attached import docx, png
from support.command import refused, run


@pytest.mark.spec("LM-15")
def test_files_go_in_and_come_out(tmp_path: Path) -> None:
    db, lease, cat = tmp_path / "m.db", tmp_path / "contrato de aluguel.docx", tmp_path / "gato.png"
    lease.write_bytes(docx("O fiador chama-se Anselmo."))
    cat.write_bytes(png())
    chat = f"/anexar '{lease}' meu contrato\n/attach {cat}\n/anexar {cat}.bin\n"
    done = run("chat", "--language", "pt", stdin=chat, db=db)
    assert "contrato de aluguel.docx: meu contrato (" in done.stdout and "gato.png (2 × 3" in done.stdout
    assert done.returncode == 1 and "não pode ser lido" in done.stdout and done.stderr == ""
    id = done.stdout.partition("Guardado: ")[2].split()[0]
    assert run("memories", "file", id, "--out", str(tmp_path / "back"), db=db).returncode == 0
    assert (tmp_path / "back").read_bytes() == lease.read_bytes()
    (tmp_path / "evil.pdf").write_bytes(b"MZ")
    assert "application/pdf" in refused(run("memories", "attach", str(tmp_path / "evil.pdf"), db=db))


def test_a_refused_line_of_a_piped_chat_loses_nothing_of_what_follows(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    done = run("chat", "--language", "pt", stdin=f"/anexar\n/attach '{tmp_path}'\nMoro em Natal.\n", db=db)
    none, folder, reply = done.stdout.splitlines()
    assert done.returncode == 1 and "/anexar ARQUIVO" in none and "Natal" in reply
    assert "é uma pasta" in folder
    assert "Natal" in run("memories", "list", db=db).stdout
    assert "é uma pasta" in refused(run("memories", "attach", str(tmp_path), db=db))
