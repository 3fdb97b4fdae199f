"""docs/security.md names only what exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.findall(r"`([\w/.-]+\.py)(?:::(\w+))?`", (ROOT / "docs" / "security.md").read_text())


def test_every_file_and_test_it_names_exists() -> None:
    assert len(NAMED) > 40
    for path, test in NAMED:
        assert (ROOT / path).is_file(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(), (path, test)
