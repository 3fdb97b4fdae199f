"""An evaluation file: what is read of it, and one clear line for what cannot be used."""

import json
from pathlib import Path

import pytest

from thoughtcycle.errors import InputRefused
from thoughtcycle.evals.dialogue_file import read_dialogue
from thoughtcycle.evals.metrics import Metric, mean, share, shown, times

GOOD = {"user": "ana", "chat": "a", "at": "2026-05-01T10:00:00", "message": "oi"}


def written(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


@pytest.mark.spec("LM-14")
def test_good_lines_are_read_in_their_order(tmp_path: Path) -> None:
    more = GOOD | {"at": "2026-05-01T08:00:00-03:00", "expect": ["x"], "forbid": ["y", "z"]}
    first, second = read_dialogue(written(tmp_path / "f", "\ufeff" + json.dumps(GOOD), "", more))
    assert first.at.isoformat() == "2026-05-01T10:00:00+00:00" and first.expect == ()
    assert (second.expect, second.forbid) == (("x",), ("y", "z"))


@pytest.mark.spec("LM-14")
@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("{", "JSON"),
        ("[]", "JSON"),
        ("[" * 100_000, "JSON"),
        ({"user": "ana"}, "chat"),
        (GOOD | {"message": " "}, "message"),
        (GOOD | {"user": 7}, "user"),
        (GOOD | {"at": "yesterday"}, "at"),
        (GOOD | {"expect": "word"}, "expect"),
        (GOOD | {"forbid": [""]}, "forbid.0"),
        (GOOD | {"expected": ["x"]}, "expected"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, bad: object, what: str) -> None:
    with pytest.raises(InputRefused) as refused:
        read_dialogue(written(tmp_path / "f", GOOD, "", bad))
    assert refused.value.code == "dialogue_line"
    for language in ("pt", "en"):
        told = refused.value.text(language)  # type: ignore[arg-type]
        assert f"({what})" in told and " 3 " in told and "\n" not in told


def test_a_file_of_no_use_is_refused(tmp_path: Path) -> None:
    cases = {
        "dialogue_empty": written(tmp_path / "empty", ""),
        "dialogue_unreadable": tmp_path / "none",
        "dialogue_order": written(tmp_path / "back", GOOD, GOOD | {"at": "2025-01-01"}),
    }
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for code, path in [*cases.items(), ("dialogue_unreadable", tmp_path / "binary")]:
        with pytest.raises(InputRefused) as refused:
            read_dialogue(path)
        assert refused.value.code == code


@pytest.mark.spec("LM-14")
def test_the_formulas() -> None:
    assert share("a", [True, False, True, True], "file").value == 0.75
    assert mean("a", [1.0, 2.0], "days", "store").value == 1.5
    middle, late = times("a", [n / 1_000 for n in range(1, 101)], "store")
    assert (middle.value, late.value) == (50.5, 95.0) and (middle.name, late.name) == ("a_p50", "a_p95")
    assert [one.value for one in times("a", [], "store")] == [None, None]


@pytest.mark.parametrize(
    ("metric", "pt", "en"),
    [
        (share("a", [], "file"), "–", "–"),
        (share("a", [True, True, False], "file"), "66,7%", "66.7%"),
        (mean("a", [1.5], "days", "store"), "1,5 dias", "1.5 days"),
        (mean("a", [5861.04], "ms", "store"), "5.861 ms", "5,861 ms"),
        (mean("a", [144_313], "bytes", "store"), "144,3 kB", "144.3 kB"),
        (mean("a", [12], "bytes", "store"), "12 bytes", "12 bytes"),
        (mean("a", [1234.5], "tokens", "store"), "1.234 tokens", "1,234 tokens"),
    ],
)
def test_values_are_written_as_the_language_does(metric: Metric, pt: str, en: str) -> None:
    assert (shown(metric, "pt"), shown(metric, "en")) == (pt, en)
