"""What a file may be: names, types, sizes, hostile contents; each refusal is one clear line."""

import asyncio
import os
from pathlib import Path

import pytest

from support.attached import docx, gif, jpeg, locked_pdf, looped_pdf, pdf, png, webp, zipped
from thoughtcycle.errors import InputRefused
from thoughtcycle.extras import install_command
from thoughtcycle.memory.files import extraction_child
from thoughtcycle.memory.files.extraction import FileLimits, look_at
from thoughtcycle.memory.model.attachment import CHUNK, Attachment, pieces
from thoughtcycle.prompts.loader import LANGUAGES

pytestmark = pytest.mark.spec("LM-15")


def look(name: str, data: bytes, claimed: str | None = None, **limits: float) -> Attachment:
    return asyncio.run(look_at(name, data, claimed=claimed, limits=FileLimits(**limits)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "data", "size"),
    [
        ("a.png", png(640, 480), (640, 480)),
        ("a.JPG", jpeg(640, 480), (640, 480)),
        ("a.gif", gif(640, 480), (640, 480)),
        ("a.webp", webp(640, 480), (640, 480)),
        ("a.webp", webp(640, 480, b"VP8L"), (640, 480)),
        ("a.webp", webp(640, 480, b"VP8 "), (640, 480)),
    ],
)
def test_an_image_tells_its_size(name: str, data: bytes, size: tuple[int, int]) -> None:
    found = look(name, data)
    assert (found.kind, found.content.width, found.content.height, found.text) == ("image", *size, "")


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.txt", "Ação\r\n\tfim".encode(), "Ação\n\tfim"),
        ("a.txt", "Ação".encode("cp1252"), "Ação"),
        ("a.text", "Ação".encode("utf-16"), "Ação"),
        ("a.md", "\ufeff# Título".encode(), "# Título"),
        ("a.markdown", b"<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("a.pdf", pdf("Contrato de aluguel", "Pagina dois"), "Contrato de aluguel\nPagina dois"),
        ("a.docx", docx("Contrato de aluguel", "Dois"), "Contrato de aluguel\nDois\nprazo | 30 dias"),
    ],
)
def test_a_document_gives_its_text(name: str, data: bytes, text: str) -> None:
    found = look(name, data)
    assert (found.kind, found.text.replace("\r", ""), found.content.complete) == ("document", text, True)
    assert found.content.characters == len(found.text)


def test_a_long_text_is_cut_and_says_so() -> None:
    found = look("a.pdf", pdf("x" * 60, "y" * 60), characters=100)
    assert (len(found.text), found.content.complete, found.content.pages) == (100, False, 2)
    found = look("a.txt", b"z" * 101, characters=100)
    assert (len(found.text), found.content.complete) == (100, False)


def test_a_damaged_page_does_not_take_the_others_along() -> None:
    data = pdf("um", "dois").replace(b"/Length", b"/Filter /Nothing /Length", 1)
    found = look("a.pdf", data)
    assert (found.text, found.content.complete) == ("dois", False)


def test_scripts_of_a_pdf_are_ignored() -> None:
    data = pdf("Nota", extra="/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>")
    assert look("a.pdf", data).text == "Nota"


ENTITIES = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'
HOSTILE = [
    ("../a.txt", b"x", None, "file_name"),
    ("a/b.txt", b"x", None, "file_name"),
    ("..\\a.txt", b"x", None, "file_name"),
    ("a\0.txt", b"x", None, "file_name"),
    ("a\u202etxt.exe.txt", b"x", None, "file_name"),
    ("CON.txt", b"x", None, "file_name"),
    ("lpt1", b"x", None, "file_name"),
    ("..", b"x", None, "file_name"),
    (" ", b"x", None, "file_name"),
    ("a" * 300 + ".txt", b"x", None, "file_name"),
    ("a.txt", b"", None, "file_empty"),
    ("a.txt", b"x" * 2_000_001, None, "file_too_large"),
    ("a.exe", b"MZ", None, "file_type"),
    ("a.svg", b"<svg/>", None, "file_type"),
    (".pdf", pdf("x"), None, "file_type"),
    ("a.pdf", png(), None, "file_mismatch"),
    ("a.txt", pdf("x"), None, "file_mismatch"),
    ("a.docx", zipped({"x": b"1"}), None, "file_mismatch"),
    ("a.docx", b"PK\3\4rubbish", None, "file_mismatch"),
    ("a.txt", b"\x7fELF\0\0", None, "file_mismatch"),
    ("a.png", png(), "text/html", "file_mismatch"),
    ("a.txt", b"\1\2\3", None, "file_unreadable"),
    ("a.png", b"\x89PNG\r\n\x1a\n", None, "file_unreadable"),
    ("a.jpg", b"\xff\xd8\xff\xe0\0\4ab\0", None, "file_unreadable"),
    ("a.png", png(60_000, 60_000), None, "file_unsafe"),
    ("a.pdf", b"%PDF-1.4\nrubbish", None, "file_unreadable"),
    ("a.pdf", looped_pdf(), None, "file_unreadable"),
    ("a.pdf", pdf(*"abcd"), None, "file_unsafe"),
    ("a.pdf", locked_pdf(), None, "file_encrypted"),
    ("a.docx", docx(document=ENTITIES), None, "file_unsafe"),
    ("a.docx", docx("x", parts={"word/bomb.bin": bytes(101_000_000)}), None, "file_unsafe"),
    ("a.docx", docx(document="<not-closed"), None, "file_unreadable"),
]


@pytest.mark.parametrize(("name", "data", "claimed", "code"), HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_file_is_refused_in_one_line(
    name: str, data: bytes, claimed: str | None, code: str
) -> None:
    with pytest.raises(InputRefused) as refused:
        look(name, data, claimed, bytes=2_000_000, pages=3, seconds=5)
    assert refused.value.code == code
    for language in ("pt", "en"):
        line = refused.value.text(language)  # type: ignore[arg-type]
        assert "\n" not in line and "\0" not in line


def test_what_takes_too_much_memory_is_given_up() -> None:
    with pytest.raises(InputRefused) as refused:
        look("a.pdf", pdf("x"), memory=1_000_000)
    assert refused.value.code in ("file_slow", "file_unreadable")


def running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def test_slow_files_hold_nobody_up_and_end_with_who_waits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child, begun = tmp_path / "child.py", tmp_path / "begun"
    child.write_text(
        f"import os, time\nopen({str(begun)!r}, 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(60)"
    )
    monkeypatch.setattr(extraction_child, "__file__", str(child))
    reading = [asyncio.create_task(look_at("a.pdf", pdf("x"))) for _ in range(40)]
    async with asyncio.timeout(30):
        while not begun.exists() or begun.read_text().count("\n") < 2:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(int)
        for one in reading:
            one.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        for process in map(int, begun.read_text().split()):
            while running(process):
                await asyncio.sleep(0.01)
    assert begun.read_text().count("\n") == 2


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    child = tmp_path / "child.py"
    source = Path(extraction_child.__file__).read_text()
    child.write_text(f"import sys\nsys.modules['pypdf'] = None\n{source}")
    monkeypatch.setattr(extraction_child, "__file__", str(child))
    with pytest.raises(InputRefused) as refused:
        look("a.pdf", pdf("x"))
    assert all(install_command("documents") in refused.value.text(language) for language in LANGUAGES)


def test_pieces_are_short_and_lose_no_word() -> None:
    text = "Uma frase. Outra frase!\n" * 40 + "palavra " * 200 + "x" * 1000
    found = list(pieces(text))
    assert max(map(len, found)) <= CHUNK
    assert "".join("".join(found).split()) == "".join(text.split())
