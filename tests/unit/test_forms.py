"""Numbers, dates and failures as people of a language read them."""

from datetime import UTC, datetime

import pytest

from thoughtcycle.errors import reason
from thoughtcycle.prompts.forms import day, moment, number, size
from thoughtcycle.prompts.loader import texts


def test_numbers_and_dates_have_the_languages_form() -> None:
    at = datetime(2026, 3, 9, 7, 5, tzinfo=UTC)
    assert (number(1234567.891, "pt", 2), number(1234567.891, "en", 2)) == ("1.234.567,89", "1,234,567.89")
    assert (day(at, "pt"), day(at, "en")) == ("09/03/2026", "09 Mar 2026")
    assert (moment(at, "pt"), moment(at, "en")) == ("09/03/2026 07:05", "09 Mar 2026, 07:05")
    assert day(datetime(987, 12, 1), "pt") == "01/12/0987"


@pytest.mark.parametrize(
    ("count", "written"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1,0 kB"), (999_960, "1,0 MB"), (3 * 10**15, "3.000,0 TB")],
)
def test_bytes_have_a_unit_that_suits_them(count: int, written: str) -> None:
    assert size(count, "pt") == written


@pytest.mark.parametrize(
    ("code", "section"),
    [
        ("worker_lost", "worker_lost"),
        ("storage_locked", "storage_trouble"),
        ("model_key", "model_trouble"),
        ("memory_away", "memory_away"),
        ("bad_setting", "unexpected"),
        ("ZeroDivisionError", "unexpected"),
    ],
)
def test_a_code_alone_has_a_line(code: str, section: str) -> None:
    for language in ("pt", "en"):
        assert reason(code, language) == texts(language, "errors")[section]
