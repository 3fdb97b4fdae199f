"""docs/promises.md and the tests say the same about each row of the specification."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = {"TC": 15, "HM": 12, "LM": 15, "CM": 10, "SM": 7, "BY": 20}
LINE = re.compile(r"^\| ([A-Z]{2}-\d+) \| (\w+) \| (.*) \|$", re.MULTILINE)


def marked() -> dict[str, set[str]]:
    """Row to the test files that prove it by `@pytest.mark.spec`."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec":
                for argument in node.args:
                    found[ast.literal_eval(argument)].add(path.name)
    return found


def promised() -> dict[str, tuple[str, set[str]]]:
    """Row to its state and the test files that promises.md names."""
    text = (ROOT / "docs" / "promises.md").read_text()
    return {row: (state, set(re.findall(r"`(\w+\.py)`", tests))) for row, state, tests in LINE.findall(text)}


def test_every_row_is_listed_once_and_in_order() -> None:
    rows = [f"{letters}-{number}" for letters, last in ROWS.items() for number in range(1, last + 1)]
    listed = [row for row, _, _ in LINE.findall((ROOT / "docs" / "promises.md").read_text())]
    assert listed == rows


def test_no_test_names_a_row_that_does_not_exist() -> None:
    assert marked().keys() <= promised().keys()


def test_rows_name_exactly_the_tests_that_prove_them() -> None:
    proofs = marked()
    for row, (_, tests) in promised().items():
        assert tests == proofs.get(row, set()), row


def test_a_row_marked_done_has_tests() -> None:
    for row, (state, tests) in promised().items():
        assert state in ("done", "partly", "later")
        assert tests or state != "done", row
        assert not tests or state != "later", row
