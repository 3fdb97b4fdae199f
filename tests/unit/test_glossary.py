"""docs/glossary.md: few words, one line each, all of them in use."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
LINES = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("- ")]
TERMS = re.findall(r"^- \*\*([^*]+)\*\*: \S", "\n".join(LINES), re.MULTILINE)


@pytest.fixture(scope="module")
def texts() -> str:
    """All code and documents but tests and the glossary itself."""
    tops = [
        path for path in ROOT.iterdir() if path.name[0] != "." and path.name not in ("build", "dist", "tests")
    ]
    paths = [
        path for end in ("*.py", "*.md") for top in tops for path in (top, *top.rglob(end)) if path.match(end)
    ]
    return "\n".join(path.read_text() for path in paths if path != GLOSSARY)


def test_it_is_short_and_in_order() -> None:
    assert len(TERMS) == len(LINES) <= 40
    assert [term.lower() for term in TERMS] == sorted({term.lower() for term in TERMS})
    assert max(map(len, LINES)) <= 140


@pytest.mark.parametrize("term", TERMS)
def test_each_word_is_in_use(term: str, texts: str) -> None:
    assert re.search(rf"(?<![a-z]){term}", texts, re.IGNORECASE)
