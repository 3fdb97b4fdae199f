"""Every text exists in both languages, with the same sections and placeholders, and stays small."""

import errno
import os
import socket
from pathlib import Path

import pytest

from thoughtcycle.errors import InputRefused
from thoughtcycle.prompts.loader import parse, placeholders, texts

PROMPTS = Path(__file__).parents[2] / "prompts"
FILES = sorted(str(path.relative_to(PROMPTS / "pt"))[:-3] for path in (PROMPTS / "pt").rglob("*.md"))


@pytest.mark.parametrize("name", FILES)
def test_both_languages_have_the_same_sections_and_placeholders(name: str) -> None:
    pt, en = texts("pt", name), texts("en", name)
    assert pt.sections.keys() == en.sections.keys()
    for section in pt.sections:
        assert placeholders(pt[section]) == placeholders(en[section]), section
        assert pt[section] and en[section], section


def test_no_file_exists_in_one_language_only() -> None:
    here = {path.relative_to(PROMPTS / "pt") for path in (PROMPTS / "pt").rglob("*") if path.is_file()}
    there = {path.relative_to(PROMPTS / "en") for path in (PROMPTS / "en").rglob("*") if path.is_file()}
    assert here == there


@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.parametrize("name", FILES)
def test_no_section_stands_twice(language: str, name: str) -> None:
    lines = (PROMPTS / language / f"{name}.md").read_text().splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    assert sorted(headings) == sorted(set(headings))


@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("actions/")])
def test_prompts_of_actions_are_short(language: str, name: str) -> None:
    for section in ("when", "ask", "tell"):
        if section in texts(language, name):  # type: ignore[arg-type]
            assert len(texts(language, name)[section]) / 4 < 200  # type: ignore[arg-type]


def test_a_missing_value_raises_and_values_are_not_read_again() -> None:
    text = parse("x.md", "note\n\n## a\nHi {{name}}, {{ other }}\n")
    with pytest.raises(KeyError, match="name"):
        text.fill("a")
    assert text.fill("a", name="{{name}}") == "Hi {{name}}, {{ other }}"
    with pytest.raises(KeyError, match="no section"):
        text["b"]


def test_an_error_says_its_line_in_both_languages() -> None:
    error = InputRefused("message_too_long", length=5, longest=3)
    assert "5" in error.text("pt") and "3" in error.text("pt")
    assert error.text("pt") != error.text("en") == str(error)


@pytest.mark.parametrize(
    ("error", "pt", "en"),
    [
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)), "não existe", "does not exist"),
        (OSError(errno.EADDRINUSE, "Address already in use"), "outro programa", "another program"),
        (IsADirectoryError(errno.EISDIR, ""), "pasta", "folder"),
        (socket.gaierror(-2, "Name or service not known"), "nome", "name"),
        (OSError(errno.EXDEV, "Invalid cross-device link"), "recusou", "refused"),
        (OSError("no number"), "recusou", "refused"),
    ],
)
def test_what_the_operating_system_says_is_said_in_the_language(error: OSError, pt: str, en: str) -> None:
    refused = InputRefused("port_taken", host="::1", port=80, reason=error)
    assert pt in refused.text("pt") and en in refused.text("en")
    assert error.strerror is None or error.strerror == "" or error.strerror not in str(refused)
